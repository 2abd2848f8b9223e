import { packageDigest } from '#bundles/formats/bundle/package-digest';
import type { Digest } from '#bundles/digest';
import { type Event, encodeEvent, GENESIS, hashLine } from '#bundles/formats/events/event';
import { printer } from './bundles.ts';
import { AGENT, HOST } from './fleet.ts';

/** Three chained events of the agent press-2, the first by a dead clock. */
export const eventLines = (siteValues: Digest): readonly string[] => {
  const common = { agent: AGENT, bootId: '6f1c2a9e-0b1d-4c55-9d57-2f3a4b5c6d7e' };
  const release = { ...HOST, version: 1 };
  const happenings: readonly Omit<Event, 'agent' | 'seq' | 'prev' | 'bootId'>[] = [
    { at: '2000-01-01T00:00:42Z', monotonicMs: 42_000, type: 'enrolled' },
    {
      at: '2026-11-22T09:00:00Z',
      monotonicMs: 90_000,
      type: 'imported',
      release,
      detail: { root: 1, site: 1 },
    },
    {
      at: '2026-11-22T09:00:03Z',
      monotonicMs: 93_000,
      type: 'package',
      assignment: 'printer',
      package: packageDigest(printer('^XA^FO50,50^FDGrüße aus Halden^FS^XZ\n')),
      siteValues: siteValues,
      release,
      outcome: 'created',
    },
  ];
  let prev: Digest = GENESIS;
  return happenings.map((happening, index) => {
    const line = encodeEvent({ ...common, ...happening, seq: index + 1, prev });
    prev = hashLine(line);
    return line;
  });
};
