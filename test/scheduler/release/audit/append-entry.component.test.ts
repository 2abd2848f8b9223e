import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { readArtifact } from '#bundles/formats/layout/artifact';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { addDays } from '#bundles/time';
import { promotedTo } from '../../../../scheduler/load/releases/audit-log.ts';
import { AUDIT_REFERENCE } from '../../../../scheduler/load/releases/references.ts';
import { appendEntry } from '../../../../scheduler/release/audit/append-entry.ts';
import { NOW } from '../reissue/release-office.ts';
import { CANDIDATE, openAuditOffice } from './audit-office.ts';

describe('an audit log', () => {
  it('is empty in a layout without one', async () => {
    await using office = await openAuditOffice();
    using releases = await office.releases();
    await releases.open();
    expect(await office.read()).toEqual({ entries: [], head: null });
  });

  it('contains entries of each kind in the order of their appending', async () => {
    await using office = await openAuditOffice();
    await office.append(await office.approval());
    await office.append(await office.promotion(), addDays(NOW, 1));
    const { entry } = await office.append(await office.decision());
    const { entries, head } = await office.read();
    expect(head).toBe(entry.digest);
    const { bundle, release, audit } = office.fleet().keys;
    expect(
      entries.map(({ number, kind, at, candidate, signer }) => [number, kind, at, candidate, signer]),
    ).toEqual([
      [1, 'approval', '2026-11-21T08:00:00Z', CANDIDATE, bundle.public.hint],
      [2, 'promotion', '2026-11-22T08:00:00Z', CANDIDATE, release.public.hint],
      [3, 'decision', '2026-11-21T08:00:00Z', undefined, audit.public.hint],
    ]);
  });

  it('contains a statement once, even if it is appended again', async () => {
    await using office = await openAuditOffice();
    const entry = await office.decision();
    const first = await office.append(entry);
    await office.append(await office.decision({ decision: 'resume' }));
    expect(await office.append(entry, addDays(NOW, 1))).toEqual({ outcome: 'known', entry: first.entry });
    expect((await office.read()).entries).toHaveLength(2);
  });

  it('serialises concurrent calls: each entry follows the one before', async () => {
    await using office = await openAuditOffice();
    const decisions = await Promise.all(
      Array.from({ length: 5 }, (_, at) => office.decision({ reason: `number ${at}` })),
    );
    using releases = await office.releases();
    await releases.open();
    await Promise.all(decisions.map((one) => appendEntry(releases, office.keys(), one, NOW)));
    expect((await office.read()).entries.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  });

  it('is written in segments, and an append rewrites only small ones', async () => {
    await using office = await openAuditOffice();
    const segments = async () => {
      const layout = await openLayout(office.directory);
      const artifact = findReference(layout, AUDIT_REFERENCE);
      const documents = artifact ? await readArtifact(layout.blobs, artifact, { what: 'the log' }) : [];
      return documents.filter(({ role }) => role === 'audit-segment');
    };
    const sizes: (readonly (number | undefined)[])[] = [];
    for (let at = 1; at <= 7; at++) {
      await office.append(await office.decision({ reason: `number ${at}` }));
      sizes.push((await segments()).map(({ version }) => version));
    }
    expect(sizes).toEqual([[1], [1], [1, 3], [1], [1, 5], [1, 5], [1, 5, 7]]);
  });

  it('refuses statements that no key of the newest root signed, and stays unchanged', async () => {
    await using office = await openAuditOffice();
    await office.append(await office.decision());
    const before = await office.read();
    const { release, bundle, audit } = office.fleet().keys;
    for (const wrong of [
      office.decision({}, release),
      office.approval({}, audit),
      office.promotion({}, bundle),
    ])
      await expect(office.append(await wrong)).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
    const other = await office.decision();
    await expect(office.append({ ...other, kind: 'approval' })).rejects.toMatchObject({
      code: 'UNKNOWN_KEY',
    });
    await expect(office.append(await office.decision({ fleet: 'umbrella' }))).rejects.toMatchObject({
      code: 'WRONG_FLEET',
    });
    expect(await office.read()).toEqual(before);
  });

  it('refuses a promotion with a used number: NOT_NEWER', async () => {
    await using office = await openAuditOffice();
    await office.append(await office.promotion({ number: 2 }));
    await expect(office.append(await office.promotion({ number: 2, reason: 'again' }))).rejects.toMatchObject(
      {
        code: 'NOT_NEWER',
      },
    );
    await office.append(await office.promotion({ number: 1, to: 'qa', from: 'dev' }));
    expect((await office.read()).entries).toHaveLength(2);
  });

  it('requires the audit key before it reads or writes anything', async () => {
    await using office = await openAuditOffice();
    using releases = await office.releases();
    const keys = {
      ...office.keys(),
      key: () => Promise.reject(new FleetError('KEY_MISSING', 'there is no audit key')),
    };
    await expect(appendEntry(releases, keys, await office.decision(), NOW)).rejects.toMatchObject({
      code: 'KEY_MISSING',
    });
    await expect(openLayout(office.directory)).rejects.toMatchObject({ code: 'MEDIUM_MISSING' });
  });

  it('keeps entries signed by a rotated key', async () => {
    await using office = await openAuditOffice();
    await office.append(await office.promotion());
    await office.rotate('release');
    await office.append(await office.promotion({ number: 2 }));
    expect((await office.read()).entries).toHaveLength(2);
  });
});

describe('promotedTo', () => {
  it('returns the newest promotion to an environment', async () => {
    await using office = await openAuditOffice();
    await office.append(await office.promotion({ to: 'qa', from: 'dev' }));
    await office.append(await office.promotion());
    await office.append(await office.promotion({ number: 2, person: 'ben' }));
    await office.append(await office.decision());
    const log = await office.read();
    expect(promotedTo(log, 'prod')).toMatchObject({
      from: 'qa',
      to: 'prod',
      number: 2,
      candidate: CANDIDATE,
      predicate: { person: 'ben' },
      payload: log.entries[2]?.payload,
    });
    expect(promotedTo(log, 'qa')).toMatchObject({ number: 1, from: 'dev' });
    expect(promotedTo(log, 'dev')).toBeUndefined();
  });
});
