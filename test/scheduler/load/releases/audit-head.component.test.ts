import { expect, it } from 'vitest';
import { type AuditOffice, openAuditOffice } from '../../release/audit/audit-office.ts';

const headOf = async (office: AuditOffice) => (await office.current()).predicate.auditHead;

it('the audit head of a release is null without a log, then the newest entry at its time', async () => {
  await using office = await openAuditOffice();
  await office.release(1, 'one');
  await office.renew();
  expect(await headOf(office)).toBeNull();
  const first = await office.append(await office.decision());
  await office.renew();
  expect(await headOf(office)).toBe(first.entry.digest);
  const second = await office.append(await office.promotion());
  await office.renew();
  expect(await headOf(office)).toBe(second.entry.digest);
});

it('A1: the whole log is put back as it was before a release -> AUDIT_TRUNCATED', async () => {
  await using office = await openAuditOffice();
  await office.release(1, 'one');
  await office.append(await office.decision());
  const before = await office.stored();
  await office.append(await office.decision({ decision: 'resume' }));
  await office.renew();
  await office.store(before);
  expect((await office.read()).entries).toHaveLength(1);
  const refused = await office.renew().catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'AUDIT_TRUNCATED', subject: await headOf(office) });
});
