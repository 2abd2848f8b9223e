import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { appendEntry } from '../../../../scheduler/release/audit/append-entry.ts';
import type { Releases } from '../../../../scheduler/release/write/open-releases.ts';
import { type AuditOffice, openAuditOffice, type StoredLog } from '../../release/audit/audit-office.ts';
import { NOW } from '../../release/reissue/release-office.ts';
import { runs } from '../../../harness/run/long.ts';

/** Stops the append after all blobs are written, before the index is. */
class Killed extends Error {}

const appendKilled = async (office: AuditOffice, reason: string): Promise<void> => {
  using releases = await office.releases();
  const dying: Releases = {
    ...releases,
    point: () => Promise.reject(new Killed()),
    [Symbol.dispose]: () => {},
  };
  await expect(
    appendEntry(dying, office.keys(), await office.decision({ reason }), NOW),
  ).rejects.toBeInstanceOf(Killed);
};

/** What somebody without a key does to the lines of a log. */
const tampering = fc.oneof(
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
  fc.record({ kind: fc.constant('remove' as const), at: fc.nat() }),
  fc.record({ kind: fc.constant('swap' as const), at: fc.nat(), with: fc.nat() }),
  fc.record({ kind: fc.constant('repeat' as const), at: fc.nat() }),
  fc.record({ kind: fc.constant('flip' as const), at: fc.nat(), byte: fc.nat(), bit: fc.nat(7) }),
  fc.record({ kind: fc.constant('old checkpoint' as const), at: fc.nat() }),
);
type Tampering = typeof tampering extends fc.Arbitrary<infer T> ? T : never;

const tamper = (log: StoredLog, older: readonly StoredLog[], act: Tampering): StoredLog => {
  const lines = [...log.lines];
  const at = act.at % lines.length;
  switch (act.kind) {
    case 'cut':
      return { ...log, lines: lines.slice(0, at) };
    case 'remove':
      return { ...log, lines: lines.toSpliced(at, 1) };
    case 'swap': {
      const other = act.with % lines.length;
      const [one = '', two = ''] = [lines[at], lines[other]];
      return { ...log, lines: lines.with(at, two).with(other, one) };
    }
    case 'repeat':
      return { ...log, lines: lines.toSpliced(at, 0, lines[at] ?? '') };
    case 'flip': {
      const bytes = Buffer.from(lines.join(''), 'latin1');
      const index = act.byte % bytes.length;
      bytes[index] = (bytes[index] ?? 0) ^ (1 << act.bit);
      return { ...log, lines: [bytes.toString('latin1')] };
    }
    case 'old checkpoint':
      return { ...log, checkpoint: older[at]?.checkpoint ?? log.checkpoint };
  }
};

const isSame = (a: StoredLog, b: StoredLog): boolean =>
  a.lines.join('') === b.lines.join('') && a.checkpoint.equals(b.checkpoint);

it('readAuditLog accepts a log after any appends and kills, and refuses one that was changed without a key', async () => {
  await using office = await openAuditOffice();
  const history: StoredLog[] = [];
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 3 }),
      fc.array(tampering, { minLength: 1, maxLength: 4 }),
      async (kills, acts) => {
        for (const isKilled of [...kills, false]) {
          count += 1;
          if (isKilled && history.length > 0) await appendKilled(office, `killed ${count}`);
          else {
            await office.append(await office.decision({ reason: `number ${count}` }));
            history.push(await office.stored());
          }
          expect((await office.read()).entries).toHaveLength(history.length);
        }
        const genuine = await office.stored();
        const changed = acts.reduce((log, act) => tamper(log, history, act), genuine);
        if (isSame(changed, genuine)) return;
        await office.store(changed);
        const accepted = await office.read().then(
          () => true,
          (error: unknown) => {
            if (!isFleetError(error)) throw error;
            return false;
          },
        );
        // An older state, whole and with its own checkpoint, is a genuine log: releases that name later entries refuse it.
        expect(accepted).toBe(history.some((state) => isSame(state, changed)));
        await office.store(genuine);
      },
    ),
    { numRuns: runs(25) },
  );
});
