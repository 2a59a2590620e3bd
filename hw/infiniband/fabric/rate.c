/*
 * What ibnetdiscover says of a cable's rate: 4xQDR
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <string.h>
#include "hw/infiniband/ib-fabric.h"
#include "hw/infiniband/ib-sm-attr.h"
#include "fabric-int.h"

#define EXT(speed)      ((speed) << 4)
#define RESERVED_SPEED  0x8

typedef struct Word {
    const char *text;
    uint16_t code;
} Word;

static const Word widths[] = {
    { "1x", IB_LINK_WIDTH_1X }, { "2x", IB_LINK_WIDTH_2X },
    { "4x", IB_LINK_WIDTH_4X }, { "8x", IB_LINK_WIDTH_8X },
    { "12x", IB_LINK_WIDTH_12X },
};

/* FDR10 is one vendor's, with PortInfo's code of QDR; XDR has none here. */
static const Word speeds[] = {
    { "SDR", IB_LINK_SPEED_SDR }, { "DDR", IB_LINK_SPEED_DDR },
    { "QDR", IB_LINK_SPEED_QDR }, { "FDR10", IB_LINK_SPEED_QDR },
    { "FDR", EXT(IB_LINK_SPEED_EXT_FDR) },
    { "EDR", EXT(IB_LINK_SPEED_EXT_EDR) },
    { "HDR", EXT(IB_LINK_SPEED_EXT_HDR) },
    { "NDR", EXT(IB_LINK_SPEED_EXT_NDR) },
    { "XDR", EXT(IB_LINK_SPEED_EXT_NDR) },
};

/* A word of @words at *@s, which moves behind it, or 0. */
static uint16_t take_word(const char **s, const Word *words, size_t n)
{
    size_t i, len;

    for (i = 0; i < n; i++) {
        len = strlen(words[i].text);
        if (!strncmp(*s, words[i].text, len)) {
            *s += len;
            return words[i].code;
        }
    }
    return 0;
}

void ib_topology_read_rate(IbTopologyPort *port, const char *comment)
{
    const char *s = comment;
    uint16_t width, speed;

    while (*(s += strspn(s, " \t"))) {
        if (*s == '"') {
            s = strchr(s + 1, '"');
            if (!s) {
                return;
            }
            s++;
            continue;
        }
        width = take_word(&s, widths, G_N_ELEMENTS(widths));
        speed = take_word(&s, speeds, G_N_ELEMENTS(speeds));
        if (width && speed && (!*s || strchr(" \t\"", *s))) {
            port->rate_width = width;
            port->rate_speed = speed;
            return;
        }
        s += strcspn(s, " \t\"");
    }
}

uint8_t ib_fabric_widths(uint8_t width)
{
    uint8_t narrower = ib_link_lanes(width) > 4
                       ? IB_LINK_WIDTH_1X | IB_LINK_WIDTH_4X
                       : IB_LINK_WIDTH_1X;

    return width | narrower;
}

uint16_t ib_fabric_speeds(uint16_t speed)
{
    return (speed | (speed - 1)) & ~RESERVED_SPEED;
}
