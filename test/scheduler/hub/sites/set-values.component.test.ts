import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import type { SitePredicate } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { addDays, DAY_MS, formatTime } from '#bundles/time';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { listSites } from '../../../../scheduler/hub/sites/list-sites.ts';
import { renewSites } from '../../../../scheduler/hub/sites/renew-sites.ts';
import { revokeAgent } from '../../../../scheduler/hub/sites/revoke-agent.ts';
import { parseValue, setValues } from '../../../../scheduler/hub/sites/set-values.ts';
import type { SiteRow } from '../../../../scheduler/hub/store/tables.ts';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { enrolled, enrolledHub, NOW, type TestHub } from '../test-hub.ts';

const verified = (hub: TestHub, site: SiteRow) =>
  verifyStatement(
    [Buffer.from(site.statement)],
    hub.keys.root.roles.release,
    PREDICATES.site,
    'the statement',
  );

describe('values on the command line', () => {
  it.each([
    ['port=8080', ['port', 8080]],
    ['port="8080"', ['port', '8080']],
    ['host=10.7.0.1', ['host', '10.7.0.1']],
    ['ratio=1.5', ['ratio', '1.5']],
    ['serial=007', ['serial', '007']],
    ['on=true', ['on', true]],
    ['none=null', ['none', null]],
    ['empty=', ['empty', '']],
    ['url=http://x/?a=b', ['url', 'http://x/?a=b']],
    ['list=[1,"a"]', ['list', [1, 'a']]],
    ['ratios=[1.5,1e-3]', ['ratios', [1.5, 0.001]]],
    ['note=say "hi"', ['note', 'say "hi"']],
    ['note="a" and "b"', ['note', '"a" and "b"']],
    ['note="', ['note', '"']],
    ['note="say \\"hi\\""', ['note', 'say "hi"']],
    ['topic={site}/{line}', ['topic', '{site}/{line}']],
    ['section=[INFO]', ['section', '[INFO]']],
    ['list=[1', ['list', '[1']],
    ['big=99999999999999999999', ['big', '99999999999999999999']],
  ])('%s is read as %j', (pair, expected) => {
    expect(parseValue(pair)).toEqual(expected);
  });

  it.each(['port', '=1', '__proto__=1', '1a=b', 'serials=[9007199254740993]', 'big=[1e400]'])(
    '%s is refused',
    (pair) => {
      expect(() => parseValue(pair)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
    },
  );
});

describe('the values of a site', () => {
  it('are written in the next site statement, which names their digest', async () => {
    await using hub = await enrolledHub();
    const signer = await siteSigner(hub);
    const { site, changed } = await setValues(
      hub.store,
      { site: 'plant-7', set: { port: 8080, host: 'a' }, unset: [] },
      signer,
      NOW,
    );
    expect([changed, site.version]).toEqual([true, 2]);
    expect(verified(hub, site).subjects).toEqual([
      { name: 'site-values', digest: digestOf(site.site_values) },
    ]);
    expect(site.site_values).toBe(
      '{"agents":{},"fleet":"acme","site":"plant-7","values":{"host":"a","port":8080}}',
    );
    const own = await setValues(
      hub.store,
      { site: 'plant-7', agent: 'press-1', set: { line: 'north' }, unset: [] },
      signer,
      NOW,
    );
    expect(JSON.parse(own.site.site_values)).toMatchObject({ agents: { 'press-1': { line: 'north' } } });
    const unset = await setValues(hub.store, { site: 'plant-7', set: {}, unset: ['port'] }, signer, NOW);
    expect(JSON.parse(unset.site.site_values)).toMatchObject({ values: { host: 'a' } });
    const [listed] = await listSites(hub.store.db, 'acme');
    expect(listed).toMatchObject({ site: 'plant-7', version: 4, values: { host: 'a' } });
    expect(listed?.agents[0]?.values).toEqual({ line: 'north' });
  });

  it('that are unchanged sign no new statement', async () => {
    await using hub = await enrolledHub();
    const change = { site: 'plant-7', set: { port: 1 }, unset: [] };
    await setValues(hub.store, change, await siteSigner(hub), NOW);
    const again = await setValues(hub.store, change, await siteSigner(hub), NOW);
    expect([again.changed, again.site.version]).toEqual([false, 2]);
  });

  it('are refused for an unknown site or agent', async () => {
    await using hub = await enrolledHub();
    const signer = await siteSigner(hub);
    const set = (site: string, agent?: string) =>
      setValues(hub.store, { site, agent, set: { a: 1 }, unset: [] }, signer, NOW);
    await expect(set('plant-9')).rejects.toMatchObject({ code: 'SITE_MISSING' });
    await expect(set('plant-7', 'press-9')).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
  });
});

describe('a site statement', () => {
  it('is valid for a year, which is below the limit of readers', async () => {
    await using hub = await enrolledHub();
    const row = await hub.store.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
    const { issuedAt, expires } = verified(hub, row).predicate as SitePredicate;
    expect(Date.parse(expires) - Date.parse(issuedAt)).toBe(365 * DAY_MS);
  });

  it('is not issued with a key that the root does not name', async () => {
    await using hub = await enrolledHub();
    const stranger = { ...(await siteSigner(hub)), release: newSigningKey() };
    await expect(
      setValues(hub.store, { site: 'plant-7', set: { a: 1 }, unset: [] }, stranger, NOW),
    ).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
    const row = await hub.store.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
    expect(row.version).toBe(1);
  });

  it('is renewed before it expires, and not earlier', async () => {
    await using hub = await enrolledHub();
    const signer = await siteSigner(hub);
    const until = (days: number) => formatTime(addDays(NOW, days));
    expect(await renewSites(hub.store, signer, until(300), NOW)).toEqual([]);
    const [renewed] = await renewSites(hub.store, signer, until(400), addDays(NOW, 200));
    expect(renewed).toMatchObject({ version: 2, expires_at: until(565) });
  });

  it('leaves a revoked agent out; revoking it again changes nothing', async () => {
    await using hub = await enrolledHub();
    await enrolled(hub, 'plant-7/press-2');
    const signer = await siteSigner(hub);
    const { site } = await revokeAgent(hub.store, 'plant-7/press-1', signer, NOW);
    const { agents } = verified(hub, site).predicate as SitePredicate;
    expect(agents.map(({ name }) => name)).toEqual(['press-2']);
    const again = await revokeAgent(hub.store, 'plant-7/press-1', signer, NOW);
    expect([again.changed, again.site.version]).toEqual([false, 3]);
    for (const [id, code] of [
      ['plant-7/none', 'AGENT_UNKNOWN'],
      ['plant-7', 'USAGE'],
      ['Plant/x', 'NAME_INVALID'],
    ])
      await expect(revokeAgent(hub.store, id as string, signer, NOW)).rejects.toMatchObject({ code });
  });
});
