// Device tables from drafts. Private to the forms.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "drafts.h"
#include "numbered.h"
#include "retile/core/device_table.h"
#include "retile/program/ops.h"

namespace retile::forms {

/// Fails at an entry that is no device.
[[nodiscard]] DeviceTable build_groups(const Token<TableDraft>& table, const Devices& devices);
/// Entries are not looked at, but those of an iota.
[[nodiscard]] DeviceTable build_list(const Token<TableDraft>& table, Size devices);
/// The source list of an allpermute. Fails at an entry that is no device.
[[nodiscard]] DeviceTable build_sources(const Token<TableDraft>& table, const Devices& devices);
[[nodiscard]] PartList build_part_list(const Token<Size>& parts, const Token<TableDraft>& part,
                                       Size devices);
[[nodiscard]] PairList build_pairs(const Token<RowsDraft>& rows, const Devices& devices);

}  // namespace retile::forms
