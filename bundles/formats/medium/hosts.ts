import { parseDocument } from '../../json/validate.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import type { Channel } from '../../names.ts';

/** A host that is to be enrolled, and the one-time token for it. */
export type HostLine = {
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  /** Facts of the host that this line is for: 'serial' -> 'PX-4711'. */
  readonly match: Readonly<Record<string, string>>;
  readonly token: string;
};

/** Many hosts in one file, which one medium carries to all of them (docs/schemas/hosts.schema.json). */
export type Hosts = { readonly fleet: string; readonly hosts: readonly HostLine[] };

const MAX_BYTES = 8 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED */
export const parseHosts = (bytes: Uint8Array, what: string): Hosts =>
  parseDocument('hosts', parseStrictJson(bytes, { maxBytes: MAX_BYTES }, what), what);
