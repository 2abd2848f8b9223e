import { parseAs } from '../../json/parse-as.ts';
import { HOSTS } from '../../json/schema/validators.js';
import { parseStrictJson } from '../../json/strict-json.ts';
import type { Hosts } from '../../schemas/types/hosts.ts';

/** Many hosts in one file, which one medium carries to all of them. */
export type { Hosts } from '../../schemas/types/hosts.ts';

/** A host that is to be enrolled, and the one-time token for it. */
export type HostLine = Hosts['hosts'][number];

const MAX_BYTES = 8 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED */
export const parseHosts = (bytes: Uint8Array, what: string): Hosts =>
  parseAs(HOSTS, parseStrictJson(bytes, { maxBytes: MAX_BYTES }, what), what);
