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

}  // namespace

Cuts Cuts::dealt(Size count, std::vector<Section> sections) {
  const Size global = sections.back().end;
  if (count == 1) return even(global, 1);
  if (sections.size() == 1 && sections.front().block > (global - 1) / count) {
    return blocks(sections.front().block, count, global);
  }
  Cuts out{1, count, global};
  out.sections_ = std::move(sections);
  Size begin = 0;
  for (Section& section : out.sections_) {
    section.block = std::min(section.block, section.end - begin);
    begin = section.end;
  }
  RETILE_ASSERT(can_be_said(out.sections_, count),
                "one extent of blocks, or sections that are cut");
  out.tile_ = out.width(0);  // no tile has more than the first one
  return out;
}

Size Cuts::dealt_width(Size t) const {
  Size out = 0;
  Size begin = 0;
  for (const Section& section : sections_) {
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
  Size begin = 0;
  for (const Section& section : sections_) {
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
  Size begin = 0;
  for (const Section& section : sections_) {
    out += ceil_div(section.end - begin, section.block);
    begin = section.end;
  }
  return out;
}

std::optional<Cuts::Rounds> Cuts::rounds() const {
  if (is_even()) return Rounds{tile_, global_};
  if (!is_dealt()) return std::nullopt;
  const Size block = sections_.front().block;
  const auto length = checked_mul(block, count_);
  for (const Section& section : sections_) {
    if (section.block != block || !length || section.end % *length != 0) return std::nullopt;
  }
  return Rounds{block, *length};
}

}  // namespace retile
