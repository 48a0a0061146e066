#include "retile/core/cuts.h"

#include "retile/core/assert.h"

namespace retile {
namespace {

/// Whether a type can say these blocks, none longer than its section: by their extent, or as sections that are cut as
/// equally as can be.
bool can_be_said(const std::vector<Section>& sections, Size count) {
  Size longest = 0;
  for (const Section& section : sections) longest = std::max(longest, section.block);
  bool alike = true;
  bool cut = true;
  Size begin = 0;
  for (const Section& section : sections) {
    const Size extent = section.end - begin;
    alike = alike && section.block == std::min(longest, extent);
    cut = cut && section.block == ceil_div(extent, count);
    begin = section.end;
  }
  return alike || cut;
}

/// The same chunks in as few dimensions as can be: one of a single element says nothing, and what is whole
/// behind another is a part of it.
void fold(std::vector<std::vector<Size>>& ends) {
  while (ends.size() > 1 && ends.front() == std::vector<Size>{0, 1}) ends.erase(ends.begin());
  while (ends.size() > 1 && ends.back().size() == 2) {
    const Size inner = ends.back().back();
    ends.pop_back();
    for (Size& end : ends.back()) end *= inner;
  }
}

/// Along one dimension: neighbours of one tile become one chunk, and empty chunks none.
Chunks merged(const Chunks& chunks) {
  const std::vector<Size>& ends = chunks.ends.front();
  Chunks out;
  out.ends.emplace_back().push_back(0);
  for (std::size_t k = 0; k < chunks.tiles.size(); ++k) {
    if (ends[k + 1] == ends[k]) continue;
    if (!out.tiles.empty() && out.tiles.back() == chunks.tiles[k]) {
      out.ends.front().back() = ends[k + 1];
      continue;
    }
    out.ends.front().push_back(ends[k + 1]);
    out.tiles.push_back(chunks.tiles[k]);
  }
  return out;
}

/// Where tiles end of which each is one stretch, behind those of the tiles before it; nothing where they are not.
std::optional<std::vector<Size>> in_order(const Cuts& cuts) {
  std::vector<Size> at = {0};
  for (Size t = 0; t < cuts.count(); ++t) {
    const std::vector<Stretch> held = cuts.stretches(t);
    if (held.size() > 1 || (held.size() == 1 && held.front().begin != at.back()))
      return std::nullopt;
    at.push_back(held.empty() ? at.back() : held.front().end);
  }
  return at;
}

/// Whether merged chunks are blocks that are dealt out in turn, as long as the first.
bool are_blocks_in_turn(const Chunks& chunks, Size count) {
  const std::vector<Size>& ends = chunks.ends.front();
  const Size block = ends[1];
  for (std::size_t k = 0; k < chunks.tiles.size(); ++k) {
    const Size extent = ends[k + 1] - ends[k];
    const bool is_last = k + 1 == chunks.tiles.size();
    if (chunks.tiles[k] != static_cast<Size>(k) % count) return false;
    if (is_last ? extent > block : extent != block) return false;
  }
  return true;
}

}  // namespace

Cuts Cuts::chunked(Size count, Chunks chunks) {
  fold(chunks.ends);
  Size global = 1;
  for (const auto& ends : chunks.ends) global *= ends.back();
  if (count == 1) return even(global, 1);
  if (chunks.ends.size() == 1) {
    chunks = merged(chunks);
    if (are_blocks_in_turn(chunks, count)) return dealt(count, {{global, chunks.ends[0][1]}});
  }
  Parts parts;
  parts.chunks = std::move(chunks);
  parts.first_of_tile.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const Size t : parts.chunks.tiles) ++parts.first_of_tile[static_cast<std::size_t>(t) + 1];
  for (std::size_t t = 1; t < parts.first_of_tile.size(); ++t) {
    parts.first_of_tile[t] += parts.first_of_tile[t - 1];
  }
  std::vector<std::size_t> next = parts.first_of_tile;
  parts.by_tile.resize(parts.chunks.tiles.size());
  for (std::size_t k = 0; k < parts.chunks.tiles.size(); ++k) {
    parts.by_tile[next[static_cast<std::size_t>(parts.chunks.tiles[k])]++] = k;
  }
  Cuts out{1, count, global};
  out.parts_ = std::make_shared<const Parts>(std::move(parts));
  if (auto at = in_order(out)) return listed(*std::move(at));
  for (Size t = 0; t < count; ++t) out.tile_ = std::max(out.tile_, out.width(t));
  return out;
}

namespace {

/// What a chunk has of each dimension.
std::vector<Stretch> box_of_chunk(const Chunks& chunks, std::size_t number) {
  std::vector<Stretch> out(chunks.ends.size());
  for (std::size_t i = out.size(); i-- > 0;) {
    const std::vector<Size>& ends = chunks.ends[i];
    const std::size_t k = number % (ends.size() - 1);
    number /= ends.size() - 1;
    out[i] = {ends[k], ends[k + 1]};
  }
  return out;
}

}  // namespace

Size Cuts::chunked_width(Size t) const {
  Size out = 0;
  const auto tile = static_cast<std::size_t>(t);
  for (std::size_t k = parts_->first_of_tile[tile]; k < parts_->first_of_tile[tile + 1]; ++k) {
    Size size = 1;
    for (const Stretch& side : box_of_chunk(chunks(), parts_->by_tile[k])) size *= side.extent();
    out += size;
  }
  return out;
}

std::vector<Stretch> Cuts::rows_of_chunks(Size t) const {
  std::vector<Stretch> out;
  const auto tile = static_cast<std::size_t>(t);
  for (std::size_t k = parts_->first_of_tile[tile]; k < parts_->first_of_tile[tile + 1]; ++k) {
    // Dimension by dimension, the first outermost: where the rows begin, in elements of what has been seen.
    std::vector<Size> begins = {0};
    const std::vector<Stretch> box = box_of_chunk(chunks(), parts_->by_tile[k]);
    for (std::size_t i = 0; i + 1 < box.size(); ++i) {
      std::vector<Size> inner;
      for (const Size begin : begins) {
        for (Size at = box[i].begin; at < box[i].end; ++at) {
          inner.push_back(begin * chunks().ends[i].back() + at);
        }
      }
      begins = std::move(inner);
    }
    if (box.back().extent() == 0) continue;
    for (const Size begin : begins) {
      const Size row = begin * chunks().ends.back().back();
      out.push_back({row + box.back().begin, row + box.back().end});
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Cuts Cuts::dealt(Size count, std::vector<Section> sections) {
  const Size global = sections.back().end;
  if (count == 1) return even(global, 1);
  if (sections.size() == 1 && sections.front().block > (global - 1) / count) {
    return blocks(sections.front().block, count, global);
  }
  Size begin = 0;
  for (Section& section : sections) {
    section.block = std::min(section.block, section.end - begin);
    begin = section.end;
  }
  RETILE_ASSERT(can_be_said(sections, count), "one extent of blocks, or sections that are cut");
  Cuts out{1, count, global};
  out.parts_ = std::make_shared<const Parts>(Parts{{}, std::move(sections), {}, {}, {}});
  out.tile_ = out.width(0);  // no tile has more than the first one
  return out;
}

const std::vector<Section>& Cuts::sections() const {
  static const std::vector<Section> none;
  return parts_ ? parts_->sections : none;
}

Size Cuts::dealt_width(Size t) const {
  if (is_chunked()) return chunked_width(t);
  Size out = 0;
  Size begin = 0;
  for (const Section& section : sections()) {
    const Size last = (section.end - begin - 1) / section.block;  // number of the last block
    if (t <= last) {
      const Size before = (last - t) / count_ * section.block;  // of all of its blocks but the last
      const Size end =
          last % count_ == t ? section.end - begin - last * section.block : section.block;
      out += before + end;
    }
    begin = section.end;
  }
  return out;
}

std::vector<Stretch> Cuts::stretches(Size t) const {
  std::vector<Stretch> out;
  const auto add = [&out](Size begin, Size end) {
    if (!out.empty() && out.back().end == begin) {
      out.back().end = end;
    } else {
      out.push_back({begin, end});
    }
  };
  if (!is_dealt() && width(t) > 0) add(at(t), at(t + 1));
  if (is_chunked()) {
    for (const Stretch& row : rows_of_chunks(t)) add(row.begin, row.end);
  }
  Size begin = 0;
  for (const Section& section : sections()) {
    const Size last = (section.end - begin - 1) / section.block;
    for (Size b = t; b <= last; b += count_) {
      const Size from = begin + b * section.block;
      add(from, from + std::min(section.block, section.end - from));
    }
    begin = section.end;
  }
  return out;
}

Size Cuts::stretches() const {
  if (!is_dealt()) return count_;
  Size out = 0;
  if (is_chunked()) {  // every row of the last dimension is cut as often as that is
    const std::vector<Size>& last = chunks().ends.back();
    for (std::size_t k = 1; k < last.size(); ++k) out += last[k] > last[k - 1] ? 1 : 0;
    return out * (global_ / last.back());
  }
  Size begin = 0;
  for (const Section& section : sections()) {
    out += ceil_div(section.end - begin, section.block);
    begin = section.end;
  }
  return out;
}

std::optional<Cuts::Rounds> Cuts::rounds_of_chunks() const {
  const std::vector<Stretch> first = stretches(0);
  if (first.empty() || first.front().begin != 0) return std::nullopt;
  const Size block = first.front().end;
  const auto length = checked_mul(block, count_);
  if (!length || global_ % *length != 0) return std::nullopt;
  for (Size t = 0; t < count_; ++t) {
    const std::vector<Stretch> held = stretches(t);
    if (static_cast<Size>(held.size()) != global_ / *length) return std::nullopt;
    for (std::size_t round = 0; round < held.size(); ++round) {
      const Size begin = static_cast<Size>(round) * *length + t * block;
      if (held[round] != Stretch{begin, begin + block}) return std::nullopt;
    }
  }
  return Rounds{block, *length};
}

std::optional<Cuts::Rounds> Cuts::rounds() const {
  if (is_even()) return Rounds{tile_, global_};
  if (!is_dealt()) return std::nullopt;
  if (is_chunked()) return rounds_of_chunks();
  const Size block = sections().front().block;
  const auto length = checked_mul(block, count_);
  for (const Section& section : sections()) {
    if (section.block != block || !length || section.end % *length != 0) return std::nullopt;
  }
  return Rounds{block, *length};
}

}  // namespace retile
