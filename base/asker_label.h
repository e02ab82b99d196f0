/* The key of the label of sandboxes that agents make. No request that a model makes can choose it.
 */
#pragma once

#define ASKER_LABEL "yett-agent"
