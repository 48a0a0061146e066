// JSON as the verbs write it.
#pragma once

#include "retile/report/json.h"

namespace retile::cli {

using report::Json;
using report::line_of;
using report::object_of;
using report::or_null;

}  // namespace retile::cli
