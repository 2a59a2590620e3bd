-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- InfiniBand in netdev-level captures (filter-dump, tcpdump on a bridge):
-- frames of ethertype 0x88B5 as docs/specs/ib-link.rst has them.  Packets go
-- to Wireshark's own InfiniBand dissector.
--
--     tshark -X lua_script:scripts/wireshark/ib-link.lua -r cable.pcap
--     wireshark -X lua_script:...     or put it into the plugins folder

local ETHERTYPE = 0x88b5
local RECORD_HEADER = 4
local PACKET, CREDIT, TRAINING, KEEPALIVE, GOING_DOWN = 1, 2, 3, 4, 5

local ib_link = Proto("iblink", "InfiniBand cable of qemu-ibswitch")

local kinds = {
    [PACKET] = "packet",
    [CREDIT] = "credits",
    [TRAINING] = "training",
    [KEEPALIVE] = "keep-alive",
    [GOING_DOWN] = "going down",
}
local steps = { [1] = "TS1", [2] = "TS2" }

local f = {
    version = ProtoField.uint8("iblink.version", "Version"),
    header = ProtoField.uint8("iblink.header_length", "Header length"),
    length = ProtoField.uint16("iblink.length", "Length of records"),
    records = ProtoField.uint16("iblink.records", "Records"),
    session = ProtoField.uint32("iblink.session", "Session", base.HEX),
    peer = ProtoField.uint32("iblink.peer_session", "Peer's session", base.HEX),
    sequence = ProtoField.uint32("iblink.sequence", "Sequence"),
    kind = ProtoField.uint8("iblink.record.type", "Record", base.DEC, kinds),
    flags = ProtoField.uint8("iblink.record.flags", "Flags", base.HEX),
    size = ProtoField.uint16("iblink.record.length", "Length"),
    no_icrc = ProtoField.bool("iblink.packet.no_icrc", "ICRC not computed", 8,
        nil, 0x01),
    bad = ProtoField.bool("iblink.packet.bad", "Ended with EBP", 8, nil, 0x02),
    request = ProtoField.bool("iblink.credit.request", "Asks for credits", 8,
        nil, 0x01),
    vl = ProtoField.uint8("iblink.credit.vl", "VL"),
    fctbs = ProtoField.uint32("iblink.credit.fctbs", "FCTBS"),
    fccl = ProtoField.uint32("iblink.credit.fccl", "FCCL"),
    step = ProtoField.uint8("iblink.training.kind", "Kind", base.DEC, steps),
    crc = ProtoField.uint8("iblink.training.crc", "Asks for CRCs"),
    port = ProtoField.uint8("iblink.training.port", "Port number"),
    width = ProtoField.uint8("iblink.training.width_enabled", "Width enabled",
        base.HEX),
    speed = ProtoField.uint16("iblink.training.speed_enabled",
        "Speeds enabled", base.HEX),
    frame = ProtoField.uint32("iblink.training.max_frame", "Largest frame"),
    guid = ProtoField.uint64("iblink.training.guid", "GUID", base.HEX),
}
for _, field in pairs(f) do
    table.insert(ib_link.fields, field)
end
local malformed = ProtoExpert.new("iblink.malformed", "record ends outside "
    .. "of its frame", expert.group.MALFORMED, expert.severity.ERROR)
ib_link.experts = { malformed }

local infiniband = Dissector.get("infiniband")

local function packet(content, pinfo, root)
    -- The dissector expects a VCRC behind the ICRC; only a cable with crc on
    -- has one.  A packet without it is a multiple of 4 bytes.
    local bytes = content:bytes()
    if bytes:len() % 4 == 0 then
        bytes:append(ByteArray.new("0000"))
    end
    infiniband:call(bytes:tvb("InfiniBand packet"), pinfo, root)
    pinfo.cols.info:fence()
end

local function credits(content, tree)
    for at = 0, content:len() - 12, 12 do
        tree:add(f.vl, content(at, 1))
        tree:add(f.fctbs, content(at + 4, 4))
        tree:add(f.fccl, content(at + 8, 4))
    end
end

local function training(content, tree)
    if content:len() < 24 then
        return
    end
    tree:add(f.step, content(0, 1))
    tree:add(f.crc, content(1, 1))
    tree:add(f.port, content(2, 1))
    tree:add(f.width, content(5, 1))
    tree:add(f.speed, content(10, 2))
    tree:add(f.frame, content(12, 4))
    tree:add(f.guid, content(16, 8))
end

function ib_link.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "IBLINK"
    if tvb:len() < 20 or tvb(0, 1):uint() ~= 1 then
        return 0
    end
    local header, length = tvb(1, 1):uint(), tvb(2, 2):uint()
    local stop = header + length
    local tree = root:add(ib_link, tvb(0, math.min(stop, tvb:len())))
    tree:add(f.version, tvb(0, 1))
    tree:add(f.header, tvb(1, 1))
    tree:add(f.length, tvb(2, 2))
    tree:add(f.records, tvb(4, 2))
    tree:add(f.session, tvb(8, 4))
    tree:add(f.peer, tvb(12, 4))
    tree:add(f.sequence, tvb(16, 4))
    if header < 20 or stop > tvb:len() then
        tree:add_proto_expert_info(malformed)
        return tvb:len()
    end

    local names = {}
    local at = header
    while at + RECORD_HEADER <= stop do
        local size, kind = tvb(at, 2):uint(), tvb(at + 2, 1):uint()
        local next_record = at + RECORD_HEADER + math.ceil(size / 4) * 4
        if next_record > stop then
            tree:add_proto_expert_info(malformed)
            break
        end
        local record = tree:add(tvb(at, RECORD_HEADER + size),
                                "Record: " .. (kinds[kind] or "unknown"))
        record:add(f.size, tvb(at, 2))
        record:add(f.kind, tvb(at + 2, 1))
        record:add(f.flags, tvb(at + 3, 1))
        if kind == PACKET then
            record:add(f.no_icrc, tvb(at + 3, 1))
            record:add(f.bad, tvb(at + 3, 1))
        elseif kind == CREDIT then
            record:add(f.request, tvb(at + 3, 1))
        end
        table.insert(names, kinds[kind] or "unknown")
        if size > 0 then
            local content = tvb(at + RECORD_HEADER, size)
            if kind == PACKET then
                packet(content, pinfo, root)
            elseif kind == CREDIT then
                credits(content, record)
            elseif kind == TRAINING then
                training(content, record)
            end
        end
        at = next_record
    end
    if not string.find(table.concat(names, " "), "packet") then
        pinfo.cols.info = table.concat(names, ", ")
    end
    return tvb:len()
end

DissectorTable.get("ethertype"):add(ETHERTYPE, ib_link)
