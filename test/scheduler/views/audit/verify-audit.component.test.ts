import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { addDays } from '#bundles/time';
import AuditList from '../../../../scheduler/commands/audit/list.ts';
import AuditVerify from '../../../../scheduler/commands/audit/verify.ts';
import { verifyAudit } from '../../../../scheduler/views/audit/verify-audit.ts';
import { type Ran, runCommandClass } from '../../commands/run-command-class.ts';
import { type AuditOffice, openAuditOffice } from '../../release/audit/audit-office.ts';
import { NOW } from '../../release/reissue/release-office.ts';

/** Three entries, and a release after the first and the last of them. */
const openFleet = async (): Promise<AuditOffice> => {
  const office = await openAuditOffice();
  await office.release(1, 'one');
  await office.append(await office.approval());
  await office.renew();
  await office.append(await office.promotion(), addDays(NOW, 1));
  await office.append(await office.decision({ environment: 'qa', person: null }), addDays(NOW, 2));
  await office.renew();
  return office;
};

const verify = async (office: AuditOffice, heads: readonly `sha256:${string}`[] = []) =>
  verifyAudit(await openLayout(office.directory), office.keys().roots, heads);

describe('verifying an audit log', () => {
  it('compares it with every release of the layout', async () => {
    await using office = await openFleet();
    expect(await verify(office)).toMatchObject({ channels: 1, releases: 3, naming: 2, faults: [] });
  });

  it('reports each release whose entry is missing', async () => {
    await using office = await openAuditOffice();
    await office.release(1, 'one');
    await office.append(await office.decision());
    const before = await office.stored();
    await office.append(await office.promotion());
    await office.renew();
    await office.renew();
    await office.store(before);
    const { faults, log } = await verify(office);
    expect(log.entries).toHaveLength(1);
    expect(faults.map(({ code, message }) => [code, message.split(' names')[0]])).toEqual([
      ['AUDIT_TRUNCATED', 'release 3 of prod/kiosk'],
      ['AUDIT_TRUNCATED', 'release 2 of prod/kiosk'],
    ]);
  });

  it('reports the fault of an invalid log', async () => {
    await using office = await openFleet();
    const stored = await office.stored();
    await office.store({ ...stored, lines: stored.lines.slice(1) });
    const { faults, log } = await verify(office);
    expect(faults.map(({ code }) => code)).toEqual(['AUDIT_CHAIN']);
    expect(log.entries).toEqual([]);
  });

  it('finds an entry by its digest, and reports a missing one', async () => {
    await using office = await openFleet();
    const [first] = (await office.read()).entries;
    if (!first) throw new Error('the log is empty');
    expect((await verify(office, [first.digest])).faults).toEqual([]);
    const { faults } = await verify(office, [digestOf('another entry')]);
    expect(faults).toMatchObject([{ code: 'AUDIT_TRUNCATED', subject: digestOf('another entry') }]);
  });
});

/** Runs a command on the office's layout, with its roots and no private key. */
const run = async (
  command: typeof AuditList | typeof AuditVerify,
  office: AuditOffice,
  ...argv: readonly string[]
): Promise<Ran> => {
  const keys = join(office.directory, 'keys');
  await mkdir(keys, { recursive: true });
  for (const [at, bytes] of office.fleet().roots.entries())
    await writeFile(join(keys, `${at + 1}.root.json`), bytes);
  return runCommandClass(command, ['--keys', keys, '--layout', office.directory, ...argv]);
};

describe('audit verify', () => {
  it('prints what it verified, with the roots only', async () => {
    await using office = await openFleet();
    const { out, code } = await run(AuditVerify, office);
    const { head } = await office.read();
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      `${office.directory}: 3 entries (1 promotion, 1 approval, 1 decision, 0 changes), the newest of 2026-11-23T08:00:00Z`,
      `head: ${head}`,
      'verified: the chain, the checkpoint and the signature of each entry',
      'verified: the log has the entries that 2 releases name, of 3 releases in 1 channel',
      '',
    ]);
  });

  it('prints each fault on one line, and exits with 4', async () => {
    await using office = await openFleet();
    const stored = await office.stored();
    await office.store({ ...stored, lines: stored.lines.slice(0, 2) });
    const { out, err, code } = await run(AuditVerify, office);
    expect([out, code]).toEqual(['', 4]);
    expect(err).toMatch(
      /^AUDIT_TRUNCATED: the audit log in .* ends with entry 2, but its checkpoint counts 3\./,
    );
    const { json } = await run(AuditVerify, office, '--json');
    expect(json()).toMatchObject({ verified: false, faults: [{ error: { code: 'AUDIT_TRUNCATED' } }] });
  });

  it('accepts a layout without a log', async () => {
    await using office = await openAuditOffice();
    await office.release(1, 'one');
    const { out, code } = await run(AuditVerify, office);
    expect([out, code]).toEqual([
      `${office.directory} has no audit log, and no release there names an entry of one.\n`,
      0,
    ]);
  });

  it('refuses a head that is not a digest', async () => {
    await using office = await openFleet();
    const { err, code } = await run(AuditVerify, office, '--head', 'abc');
    expect(err).toContain('--head "abc" is not the digest of an entry');
    expect(code).toBe(2);
  });
});

describe('audit list', () => {
  it('shows entries oldest first, by environment and time', async () => {
    await using office = await openFleet();
    const words = async (...argv: string[]) =>
      (await run(AuditList, office, ...argv)).out
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/));
    const candidate = digestOf('a candidate').slice(0, 19);
    const all = [
      ['2026-11-21T08:00:00Z', 'prod', 'approval', candidate, 'by ada: seen in qa'],
      ['2026-11-22T08:00:00Z', 'prod', 'promotion 1 from qa (manual)', candidate, 'by ada'],
      ['2026-11-23T08:00:00Z', 'qa', 'pause', 'by a rule: a fault'],
    ];
    expect(await words()).toEqual(all);
    expect(await words('--environment', 'prod')).toEqual(all.slice(0, 2));
    expect(await words('--since', '2026-11-22')).toEqual(all.slice(1));
    expect(await words('--since', '2026-11-22T08:00:01Z', '-e', 'prod')).toEqual([
      [`No entry of the audit log matches.`],
    ]);
  });

  it('gives whole entries as JSON', async () => {
    await using office = await openFleet();
    const { entries, head } = await office.read();
    expect((await run(AuditList, office, '--json')).json()).toEqual(
      JSON.parse(JSON.stringify({ head, entries })),
    );
  });

  it('prints nothing of an invalid log', async () => {
    await using office = await openFleet();
    const stored = await office.stored();
    await office.store({ ...stored, lines: stored.lines.slice(0, 1) });
    const { out, err, code } = await run(AuditList, office);
    expect([out, code]).toEqual(['', 4]);
    expect(err).toContain('AUDIT_TRUNCATED');
  });
});
