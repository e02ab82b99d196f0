/* For programs that talk to clients and to nobody else: the helper, its decoder. */
#include "protocol/schema.h"

const struct schema_set *const schema_sets[] = {&schema_helper, NULL};
