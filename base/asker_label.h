/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The label key with which yett-agent marks the sandboxes that it makes. A model's request cannot
 * set this label.
 */
#pragma once

#define ASKER_LABEL "yett-agent"
