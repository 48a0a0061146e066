// What rows of the table are made of in common: sets of types, operands, attributes.
#pragma once

#include "retile/operations/table.h"

namespace retile::operations::parts {

inline constexpr Types any = {.truth = true,
                              .signed_integer = true,
                              .unsigned_integer = true,
                              .real = true,
                              .complex = true,
                              .other = true};
inline constexpr Types truth = {.truth = true};
inline constexpr Types integer = {.signed_integer = true, .unsigned_integer = true};
inline constexpr Types with_bits = {
    .truth = true, .signed_integer = true, .unsigned_integer = true};
inline constexpr Types ordered = {
    .truth = true, .signed_integer = true, .unsigned_integer = true, .real = true};
inline constexpr Types numeric = {
    .signed_integer = true, .unsigned_integer = true, .real = true, .complex = true};
inline constexpr Types with_sign = {.signed_integer = true, .real = true, .complex = true};
inline constexpr Types addable = {
    .truth = true, .signed_integer = true, .unsigned_integer = true, .real = true, .complex = true};
inline constexpr Types real = {.real = true};
inline constexpr Types with_point = {.real = true, .complex = true};

inline constexpr Operand array = {.name = "x", .types = any};
inline constexpr Operand arrays = {.name = "x", .types = any, .is_repeated = true};

inline constexpr Attribute groups = {
    .hlo = "replica_groups",
    .stablehlo = "replica_groups",
    .short_name = "",
    .missing = "in HLO one group of all",
    .meaning = "who gives and gets, in this order; numbers of replicas, partitions or devices"};
inline constexpr Attribute channel = {
    .hlo = "channel_id",
    .stablehlo = "channel_handle",
    .short_name = "channel_id",
    .missing = "numbers are those of replicas",
    .meaning = "numbers are those of partitions, or groups have all partitions of their replicas"};

}  // namespace retile::operations::parts
