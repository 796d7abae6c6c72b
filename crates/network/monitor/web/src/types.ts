// The documents that the server shows. They hold no null: what is not known is left out.

export interface Alert {
  cause: string;
  severity: 'warning' | 'critical';
  id?: number;
  subject: string;
  text: string;
  advice: string;
  since: number;
}

export interface Row {
  label: string;
  state: string;
  address?: string;
  bytes?: number;
  rate_bps?: number;
  loss: number;
  rtt?: number;
  overruns: number;
  files: number;
  late: boolean;
  cause?: string;
}

export interface Sending {
  rate_bps: number;
  repair_bytes: number;
  wire_bytes: number;
  complete: number;
  heard: number;
  limit: string;
  limit_text: string;
}

export interface Notice {
  event: string;
  code: string;
  message: string;
  at: number;
}

export interface FileLine {
  path: string;
  size: number;
  verified: boolean;
  seconds: number;
}

export interface Ending {
  ok: boolean;
  exit: number;
  complete?: number;
  seconds?: number;
  missing?: string[];
  failed?: number;
}

export interface Transfer {
  version: string;
  kind: 'send' | 'recv';
  phase: string;
  group?: string;
  interface?: string;
  dir?: string;
  total_bytes?: number;
  done_bytes: number;
  pace_bps?: number;
  left?: number;
  loss?: number;
  expected?: number;
  sending?: Sending;
  receivers: Record<string, Row>;
  alerts: Record<string, Alert>;
  alerts_raised: Record<string, number>;
  warnings: Notice[];
  files: FileLine[];
  file_count: number;
  result?: Ending;
  chart: [string, string][];
}

export interface NodeRow {
  label: string;
  state: string;
  age: number;
  hop: number;
  heard_by: number;
  processor?: number;
  memory?: number;
  battery?: number;
  sent_bps?: number;
  received_bps?: number;
  loss?: number;
  rtt?: number;
  hears?: number;
  cause?: string;
}

export interface Link {
  capacity_bps?: number;
  in_bps?: number;
  out_bps?: number;
  used?: number;
  drops?: number;
  up?: boolean;
  state: string;
}

export interface Advice {
  ceiling_bps: number;
  left: number;
  why: string;
}

export interface SeenPath {
  from: string;
  to: string;
  bytes: number;
  bps: number;
  rtt?: number;
  rtt_base?: number;
  lost_before?: number;
  lost_after?: number;
}

export interface NormSession {
  from: string;
  to: string;
  node: string;
  instance: number;
  sent: number;
  came: number;
  bytes: number;
}

export interface SensorReport {
  silent: boolean;
  packets?: { paths: SeenPath[]; sessions: NormSession[] };
  missing?: string[];
}

/** Degrees. */
export interface At {
  lat: number;
  lon: number;
}

export interface Group {
  version: string;
  kind: 'group';
  phase: string;
  group: string;
  interface?: string;
  own: string;
  nodes: Record<string, NodeRow>;
  up: number;
  silent: number;
  sent_bps: number;
  hearing: Record<string, Record<string, number>>;
  alerts: Record<string, Alert>;
  alerts_raised: Record<string, number>;
  monitor: {
    interval: number;
    notes_sent: number;
    notes_heard: number;
    bytes_sent: number;
    bps: number;
    allowed_bps: number;
  };
  bytes_sent: number;
  repairs: number;
  frames_refused: number;
  chart: [string, string][];
  sensors?: Record<string, SensorReport>;
  links?: Record<string, Link>;
  advice?: Record<string, Advice>;
  adapt?: string;
  places?: Record<string, At>;
}

export type Shown = Transfer | Group;
