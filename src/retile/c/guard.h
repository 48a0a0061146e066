// From results and exceptions to a status and words in the calling thread.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "retile/c/retile.h"
#include "retile/core/codes.h"
#include "retile/core/result.h"

namespace retile::c {

/// Keeps what is wrong, and gives its status.
retile_status keep(const Diagnostic& diagnostic) noexcept;
retile_status keep_no_memory() noexcept;

/// Work that may fail; nothing is thrown into C.
template <typename Work>
retile_status guarded(const Work& work) noexcept {
  try {
    const Result<void> done = work();
    return done ? RETILE_OK : keep(done.error());
  } catch (const std::bad_alloc&) {
    return keep_no_memory();
  } catch (const std::length_error&) {
    return keep_no_memory();
  } catch (const std::exception& error) {
    return keep({.code = Code::unsupported, .message = error.what()});
  }
}

/// \error bad_argument: a null pointer in the place of an argument
[[nodiscard]] inline Result<void> is_there(const void* argument, const char* name) {
  if (argument != nullptr) return {};
  return refuse({.code = Code::bad_argument, .message = "a null pointer", .source = name});
}

}  // namespace retile::c
