import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { readArtifact } from '#bundles/formats/layout/artifact';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { type AuditLine, encodeAuditLine } from '#bundles/formats/statements/audit-lines';
import { AUDIT_REFERENCE } from '../../../../scheduler/load/releases/references.ts';
import { type NewEntry, signCheckpoint } from '../../../../scheduler/release/audit/append-entry.ts';
import { newSigningKey } from '../../../harness/fleets/signed-layout.ts';
import { type AuditOffice, openAuditOffice, type StoredLog } from '../../release/audit/audit-office.ts';
import { NOW } from '../../release/reissue/release-office.ts';

/** An office whose log has four decisions. */
const openFour = async (): Promise<{ readonly office: AuditOffice; readonly log: StoredLog }> => {
  const office = await openAuditOffice();
  for (const reason of ['one', 'two', 'three', 'four'])
    await office.append(await office.decision({ reason }));
  return { office, log: await office.stored() };
};

const refusal = async (office: AuditOffice, log: StoredLog): Promise<string> => {
  await office.store(log);
  try {
    await office.read();
    return 'ACCEPT';
  } catch (error) {
    if (isFleetError(error)) return error.code;
    throw error;
  }
};

const digestOfLine = (line: string) => digestOf(line.trimEnd());

/** The line that follows, with a statement of its own. */
const lineAfter = (before: string | undefined, { kind, statement }: NewEntry): string => {
  const last = before === undefined ? undefined : (JSON.parse(before) as AuditLine);
  const line: AuditLine = {
    number: (last?.number ?? 0) + 1,
    previous: before === undefined ? null : digestOfLine(before),
    at: '2026-11-21T08:00:00Z',
    kind,
    statement: JSON.parse(Buffer.from(statement).toString()) as AuditLine['statement'],
  };
  return `${encodeAuditLine(line).toString()}\n`;
};

/** The lines with the chain computed again from a line on. */
const rechain = (lines: readonly string[]): readonly string[] => {
  const chained: string[] = [];
  for (const text of lines) {
    const { kind, statement } = JSON.parse(text) as AuditLine;
    chained.push(lineAfter(chained.at(-1), { kind, statement: Buffer.from(JSON.stringify(statement)) }));
  }
  return chained;
};

describe('a stored audit log', () => {
  it('is accepted as written, in segments of any size', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    expect(await refusal(office, log)).toBe('ACCEPT');
  });

  it('A1: the newest entries are removed -> AUDIT_TRUNCATED', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    for (const left of [1, 2, 3])
      expect(await refusal(office, { ...log, lines: log.lines.slice(0, left) })).toBe('AUDIT_TRUNCATED');
  });

  it('A2: two entries change places -> AUDIT_CHAIN', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const [one = '', two = '', three = '', four = ''] = log.lines;
    for (const lines of [
      [two, one, three, four],
      [one, three, two, four],
      [one, two, four, three],
    ])
      expect(await refusal(office, { ...log, lines })).toBe('AUDIT_CHAIN');
  });

  it('A3: an entry is replaced and the chain is left -> AUDIT_CHAIN', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const [one = '', two = '', three = '', four = ''] = log.lines;
    const other = lineAfter(one, await office.decision({ reason: 'other' }));
    expect(await refusal(office, { ...log, lines: [one, other, three, four] })).toBe('AUDIT_CHAIN');
    expect(await refusal(office, { ...log, lines: [two, three, four] })).toBe('AUDIT_CHAIN');
    expect(await refusal(office, { ...log, lines: [one, two, two, three] })).toBe('AUDIT_CHAIN');
    const spaced = four.replace('{', '{ ');
    expect(await refusal(office, { ...log, lines: [one, two, three, spaced] })).toBe('AUDIT_CHAIN');
    const cut = four.slice(0, -1);
    expect(await refusal(office, { ...log, lines: [one, two, three, cut] })).toBe('AUDIT_CHAIN');
  });

  it('A3: an entry is replaced and the chain is made to fit -> AUDIT_CHECKPOINT', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const [one = '', , three = '', four = ''] = log.lines;
    const other = lineAfter(one, await office.decision({ reason: 'other' }));
    const lines = rechain([one, other, three, four]);
    expect(await refusal(office, { ...log, lines })).toBe('AUDIT_CHECKPOINT');
  });

  it('A4: an entry is appended without a checkpoint -> AUDIT_CHECKPOINT', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const lines = [...log.lines, lineAfter(log.lines.at(-1), await office.decision({ reason: 'five' }))];
    expect(await refusal(office, { ...log, lines })).toBe('AUDIT_CHECKPOINT');
  });

  it('A4: an entry is appended with a checkpoint by another key -> UNKNOWN_KEY', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const lines = [...log.lines, lineAfter(log.lines.at(-1), await office.decision({ reason: 'five' }))];
    const head = digestOfLine(lines.at(-1) ?? '');
    for (const key of [newSigningKey(), office.fleet().keys.release]) {
      const checkpoint = await signCheckpoint(head, 5, key, NOW);
      expect(await refusal(office, { ...log, lines, checkpoint })).toBe('UNKNOWN_KEY');
    }
  });

  it("A4: a statement by another role's key, under a genuine checkpoint -> UNKNOWN_KEY", async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const { release, bundle, audit, lease } = office.fleet().keys;
    for (const entry of [
      office.decision({}, release),
      office.promotion({}, bundle),
      office.promotion({}, lease),
      office.approval({}, audit),
    ]) {
      const lines = [...log.lines, lineAfter(log.lines.at(-1), await entry)];
      const checkpoint = await signCheckpoint(digestOfLine(lines.at(-1) ?? ''), 5, audit, NOW);
      expect(await refusal(office, { ...log, lines, checkpoint })).toBe('UNKNOWN_KEY');
    }
  });

  it('is refused with a statement of another kind or fleet, or a repeated promotion number', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const { audit } = office.fleet().keys;
    const signed = async (...entries: readonly Promise<NewEntry>[]): Promise<StoredLog> => {
      const lines = [...log.lines];
      for (const entry of entries) lines.push(lineAfter(lines.at(-1), await entry));
      const head = digestOfLine(lines.at(-1) ?? '');
      return { ...log, lines, checkpoint: await signCheckpoint(head, lines.length, audit, NOW) };
    };
    const { statement } = await office.promotion();
    const asApproval = office.approval().then((it) => ({ ...it, statement }));
    expect(await refusal(office, await signed(asApproval))).toBe('UNKNOWN_KEY');
    expect(await refusal(office, await signed(office.decision({ fleet: 'umbrella' })))).toBe('WRONG_FLEET');
    const twice = [office.promotion({ number: 3 }), office.promotion({ number: 3, reason: 'again' })];
    expect(await refusal(office, await signed(...twice))).toBe('AUDIT_CHAIN');
  });

  it('is refused with an entry or decision of an unknown kind, with a hint at a newer version', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    const { audit } = office.fleet().keys;
    const withLine = async (line: string): Promise<StoredLog> => {
      const lines = [...log.lines, line];
      const checkpoint = await signCheckpoint(digestOf(line.trimEnd()), lines.length, audit, NOW);
      return { ...log, lines, checkpoint };
    };
    const entry = await office.decision({ decision: 'quarantine' as 'pause' });
    const decision = lineAfter(log.lines.at(-1), entry);
    const kind = lineAfter(log.lines.at(-1), { ...entry, kind: 'attestation' as 'decision' });
    for (const [line, said] of [
      [decision, 'the decision in entry 5 of the audit log is of the kind "quarantine"'],
      [kind, 'entry 5 of the audit log is of the kind "attestation"'],
    ] as const) {
      await office.store(await withLine(line));
      await expect(office.read()).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        message: `${said}, which this version does not know: a newer version wrote it`,
        hint: 'Upgrade this program to the version that writes the log',
      });
    }
  });

  it('is refused with a missing or damaged segment', async () => {
    const { office } = await openFour();
    await using _ = office;
    const layout = await openLayout(office.directory);
    const artifact = findReference(layout, AUDIT_REFERENCE);
    const documents = artifact ? await readArtifact(layout.blobs, artifact, { what: 'the log' }) : [];
    const segment = documents.find(({ role }) => role === 'audit-segment');
    if (!segment) throw new Error('the log has no segment');
    await layout.blobs.remove(segment.digest);
    await expect(office.read()).rejects.toMatchObject({ code: 'MISSING_BLOB', subject: segment.digest });
  });

  it('is refused with a checkpoint of an earlier or later state', async () => {
    const { office, log } = await openFour();
    await using _ = office;
    await office.append(await office.decision({ reason: 'five' }));
    const later = await office.stored();
    expect(await refusal(office, { ...later, checkpoint: log.checkpoint })).toBe('AUDIT_CHECKPOINT');
    expect(await refusal(office, { ...log, checkpoint: later.checkpoint })).toBe('AUDIT_TRUNCATED');
    expect(await refusal(office, { ...log, checkpoint: Buffer.alloc(0) })).toBe('BAD_JSON');
  });
});
