import { expect, it } from 'vitest';
import { renewRelease } from '../../../../scheduler/release/reissue/renew-release.ts';
import { type AuditOffice, openAuditOffice } from '../../release/audit/audit-office.ts';
import { KIOSK, NOW } from '../../release/reissue/release-office.ts';

/** Renews the release of prod/kiosk. */
const renew = async (office: AuditOffice): Promise<void> => {
  using releases = await office.releases();
  const layout = await releases.open();
  const previous = await office.current();
  const renewed = await renewRelease(layout, office.keys(), {
    channel: KIOSK,
    previous,
    now: NOW,
    anyway: true,
  });
  await releases.point(renewed.references);
};

const headOf = async (office: AuditOffice) => (await office.current()).predicate.auditHead;

it('is null without a log, and then the newest entry at the time of each release', async () => {
  await using office = await openAuditOffice();
  await office.release(1, 'one');
  await renew(office);
  expect(await headOf(office)).toBeNull();
  const first = await office.append(await office.decision());
  await renew(office);
  expect(await headOf(office)).toBe(first.entry.digest);
  const second = await office.append(await office.promotion());
  await renew(office);
  expect(await headOf(office)).toBe(second.entry.digest);
});

it('A1: the whole log is put back as it was before a release -> AUDIT_TRUNCATED', async () => {
  await using office = await openAuditOffice();
  await office.release(1, 'one');
  await office.append(await office.decision());
  const before = await office.stored();
  await office.append(await office.decision({ decision: 'resume' }));
  await renew(office);
  await office.store(before);
  expect((await office.read()).entries).toHaveLength(1);
  const refused = await renew(office).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'AUDIT_TRUNCATED', subject: await headOf(office) });
});
