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
