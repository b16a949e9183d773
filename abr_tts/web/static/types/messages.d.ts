/**
 * A stream: its handle, or its UUID.
 */
export type StreamRef = number | string;
export type TrackPts = [track: number, pts: number];
export type Hello = {
    type: "hello";
    versions?: number[];
    level?: number;
    codecs?: string[];
    client?: string;
};
export type StreamStart = {
    type: "stream_start";
    stream_id: string;
    text?: string;
    open?: boolean;
    voice?: string | null;
    language?: string | null;
    speed?: number;
    rung?: string | null;
    policy?: string | null;
    mode?: string;
    formats?: string[] | null;
    instruct?: string | null;
};
export type Text = {
    type: "text";
    stream: StreamRef;
    text: string;
};
export type TextEnd = {
    type: "text_end";
    stream: StreamRef;
};
export type Attach = {
    type: "attach";
    stream_id: string;
    token: string;
    tracks?: TrackPts[];
    played?: number;
};
export type AudioStart = {
    type: "audio_start";
    stream_id: string;
    codec: string;
    sample_rate: number;
    channels?: number;
    purpose?: string;
    consent?: boolean;
    voice?: string | null;
    text?: string;
    language?: string | null;
    speed?: number;
    rung?: string | null;
    policy?: string | null;
    mode?: string;
    formats?: string[] | null;
};
export type UplinkAudio = {
    type: "uplink_audio";
    stream: number;
    pts: number;
    packets: Uint8Array[];
};
export type Cancel = {
    type: "cancel";
    stream: StreamRef;
};
export type Pause = {
    type: "pause";
    stream: StreamRef;
};
export type Resume = {
    type: "resume";
    stream: StreamRef;
};
export type BitRateHint = {
    type: "bit_rate_hint";
    stream: number;
    received: number;
    played: number;
    buffer_ms: number;
    highest?: TrackPts[];
    rtt_ms?: number;
    goodput_kbps?: number;
    jitter_ms?: number;
    loss?: number;
    stalls?: number;
    stall_ms?: number;
    hidden?: boolean;
    save_data?: boolean;
};
export type Ping = {
    type: "ping";
    value: number;
    padding?: string;
};
export type Pong = {
    type: "pong";
    value: number;
};
export type Welcome = {
    type: "welcome";
    version: number;
    session: string;
    server: string;
    ping_ms: number;
    hint_ms: number;
    limits: Record<string, number>;
};
export type StreamStarted = {
    type: "stream_started";
    stream: number;
    stream_id: string;
    token: string;
    voice: string;
    sample_rate: number;
    channels: number;
    codec: string;
    rung: string;
    chars: number;
};
export type Track = {
    type: "track";
    stream: number;
    track: number;
    rank: number;
    rung: string;
    codec: string;
    sample_rate: number;
    channels: number;
    start: number;
    preroll: number;
    duration: number;
};
export type Audio = {
    type: "audio";
    stream: number;
    track: number;
    pts: number;
    packets: Uint8Array[];
};
export type Switch = {
    type: "switch";
    stream: number;
    track: number;
    from: string;
    to: string;
    at: number;
    length: number;
    reason: string;
};
export type Mark = {
    type: "mark";
    stream: number;
    pts: number;
    begin: number;
    end: number;
};
export type StreamEnd = {
    type: "stream_end";
    stream: number;
    length: number;
    sample_rate: number;
    channels: number;
    codec: string;
    reason: string;
    chars?: number;
};
export type FlowControl = {
    type: "flow_control";
    rate: number;
    retry_after: number;
    stream: number | null;
};
export type GoingAway = {
    type: "going_away";
    deadline_ms: number;
    reason: string;
};
export type ErrorMessage = {
    type: "error";
    code: string;
    message: string;
    scope: import("./errors.js").Scope;
    stream: number | null;
    stream_id: string | null;
    retry_after: number | null;
    detail: Record<string, unknown>;
};
export type ClientMessage = Hello | StreamStart | Text | TextEnd | Attach | AudioStart | UplinkAudio | Cancel | Pause | Resume | BitRateHint | Ping | Pong;
export type ServerMessage = Welcome | StreamStarted | Track | Audio | Switch | Mark | StreamEnd | FlowControl | GoingAway | ErrorMessage | Ping | Pong;
