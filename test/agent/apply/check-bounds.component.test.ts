import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { refuseBorrowedAccounts } from '../../../agent/apply/host/plan/refuse-borrowed-accounts.ts';
import { checkBounds } from '../../../agent/apply/check-bounds.ts';
import { boundsOf } from '../../../bundles/formats/bounds/bounds-of.ts';
import type { PackageBounds } from '../../../bundles/formats/bundle/config.ts';
import type { DesiredPackage } from '../../../agent/model/target.ts';
import type { Accounts } from '../../../agent/apply/host/live/accounts.ts';
import { fileKey } from '../../../agent/apply/host/owned/owned-state.ts';
import { digestOf } from '../../../bundles/digest.ts';
import { verdict } from '../../bundles/verdict.ts';
import { liveFiles } from '../folder-target.ts';
import { createWorld, onePackage, type World } from '../world.ts';

const live = (world: World) => liveFiles(join(world.folder, 'machine'));
const bounds = { paths: ['/opt/label'], secretSets: ['label'], units: ['label.*'], users: [] };
const tenant = { workspace: 'printing', bounds };

describe('a host package outside of its bounds', () => {
  it('N28: outside of the bounds that its bundle carries fails alone -> OUT_OF_BOUNDS', async () => {
    await using world = await createWorld();
    const result = await world.release(1, [
      onePackage('label', 'x', { files: { '/opt/label/a': 'a', '/etc/sudoers.d/label': 'b' }, ...tenant }),
      onePackage('other', 'one', { workspace: 'other', bounds: { paths: ['/opt/other'] } }),
    ]);
    expect(result.packages).toMatchObject([
      { assignment: 'label', outcome: 'failed', code: 'OUT_OF_BOUNDS' },
      { assignment: 'other', outcome: 'created' },
    ]);
    expect(result.packages[0]?.message).toContain('/etc/sudoers.d/label is reserved to the system');
    expect(live(world)).toEqual({ '/opt/other': 'one' });
  });

  it('is applied when the next release grants it, without a retry', async () => {
    await using world = await createWorld();
    const label = onePackage('label', 'x', { files: { '/srv/labels/a': 'a' }, ...tenant });
    expect((await world.release(1, [label])).packages).toMatchObject([{ code: 'OUT_OF_BOUNDS' }]);
    const grant = { ...label, bounds: { ...bounds, paths: ['/srv/labels'] } };
    expect((await world.release(2, [grant])).packages).toMatchObject([{ outcome: 'created' }]);
    expect(live(world)).toEqual({ '/srv/labels/a': 'a' });
  });

  it('N28: without bounds, in a bundle from before, names a reserved path -> OUT_OF_BOUNDS', async () => {
    await using world = await createWorld();
    const old = { workspace: 'printing' };
    const { packages } = await world.release(1, [
      onePackage('cron', 'x', { files: { '/etc/cron.d/a': 'a' }, ...old }),
      onePackage('free', 'x', { files: { '/srv/anything': 'a' }, ...old }),
      onePackage('ours', 'x', { files: { '/etc/cron.d/b': 'b' } }),
    ]);
    expect(packages).toMatchObject([
      { assignment: 'cron', code: 'OUT_OF_BOUNDS' },
      { assignment: 'free', outcome: 'created' },
      { assignment: 'ours', outcome: 'created' },
    ]);
  });

  it('N28: by a site value or by its time, against the bounds that its bundle carries -> OUT_OF_BOUNDS', async () => {
    const spec = {
      id: 'label',
      directories: [],
      files: [],
      units: [],
      checks: [{ type: 'http', name: 'slow', url: 'http://127.0.0.1/', status: 200, timeoutSeconds: 3600 }],
      critical: [],
    };
    const input = { assignment: 'label', input: 'line', file: '/a', pointer: '/A', value: 1 };
    const desired = (more: Partial<PackageBounds>): DesiredPackage => ({
      assignment: 'label',
      package: 'sha256:0',
      siteValues: 'sha256:0',
      files: new Map([['package.json', Buffer.from(JSON.stringify(spec))]]),
      siteInputs: [input, { ...input, assignment: 'other', input: 'foreign' }],
      bounds: { ...bounds, ...more },
    });
    const check = (more: Partial<PackageBounds>) => () => checkBounds(desired(more), 'host', '/state');
    const [values, time] = [check({ siteValues: [] }), check({ seconds: 3599 })];
    check({})();
    check({ siteValues: ['line'], seconds: 3600 })();
    expect(values).toThrow('the site value "line" is not one that it may read');
    expect(time).toThrow('of which the check slow for 3600 s; its workspace may for 3599 s');
    for (const one of [values, time]) expect(await verdict(async () => one())).toBe('OUT_OF_BOUNDS');
  });

  it('N29: as an account that only the host knows, by the name of its unit -> OUT_OF_BOUNDS', async () => {
    const path = '/etc/systemd/system/print.service';
    const content = Buffer.from('[Service]\nDynamicUser=yes\nExecStart=/opt/label/print\n');
    const spec = {
      id: 'label',
      directories: [],
      files: [
        {
          path,
          content: 'files/a',
          size: content.length,
          digest: digestOf(content),
          mode: '0644',
          owner: 'root',
          group: 'root',
        },
      ],
      units: [{ name: 'print.service', enabled: true, active: true, restartOn: [] }],
      checks: [],
      critical: [],
    };
    const desired = (users: readonly string[]): DesiredPackage => ({
      assignment: 'label',
      package: 'sha256:0',
      siteValues: 'sha256:0',
      files: new Map([
        ['package.json', Buffer.from(JSON.stringify(spec))],
        ['files/a', content],
      ]),
      siteInputs: [],
      bounds: { ...bounds, units: ['print.*'], users },
    });
    const host = (...names: readonly string[]): Accounts => ({
      users: new Map(names.map((name) => [name, 990])),
      groups: new Map(),
    });
    const check = (accounts: Accounts, users: readonly string[] = [], installed?: Buffer) => {
      const state = { digest: digestOf(installed ?? Buffer.alloc(0)), previous: [] };
      const owned = installed === undefined ? [] : [{ key: fileKey(path), state }];
      return verdict(async () => refuseBorrowedAccounts(desired(users), accounts, owned));
    };
    expect(await check(host('print'))).toBe('OUT_OF_BOUNDS');
    expect(await check({ users: undefined, groups: new Map([['print', 7]]) })).toBe('OUT_OF_BOUNDS');
    expect(await check(host('other'))).toBe('ACCEPT');
    expect(await check(host('print'), ['print'])).toBe('ACCEPT');
    // An installed service is corrected without a new check.
    expect(await check(host('print'), [], content)).toBe('ACCEPT');
    // An update that takes User= out of an installed service is checked.
    const granted = Buffer.from('[Service]\nUser=label\nExecStart=/opt/label/print\n');
    expect(await check(host('print'), [], granted)).toBe('OUT_OF_BOUNDS');
  });

  it("is refused for the agent's own files, also in a package of the platform", async () => {
    await using world = await createWorld();
    const { directory } = world.agent.state;
    for (const [version, path] of ['/etc/fleet-agent/agent.yaml', `${directory}/state.db`].entries()) {
      const { packages } = await world.release(version + 1, [
        onePackage('ops', 'x', { files: { [path]: 'x' } }),
      ]);
      expect(packages).toMatchObject([{ assignment: 'ops', code: 'OUT_OF_BOUNDS' }]);
    }
    expect(live(world)).toEqual({});
  });
});

describe('a Kubernetes package', () => {
  const manifest = (set: string) =>
    `apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n  annotations:\n    fleet-ferry/secret-set: ${set}\n`;
  const desired = (text: string, more: Partial<DesiredPackage> = {}): DesiredPackage => ({
    assignment: 'shop-web',
    package: 'sha256:0',
    siteValues: 'sha256:0',
    files: new Map([['manifests/db.yaml', Buffer.from(text)]]),
    siteInputs: [],
    bounds: { secretSets: ['shop', 'sales-*'] },
    ...more,
  });

  it("N28: on a cluster, of another team's secret set -> OUT_OF_BOUNDS", async () => {
    const check = async () => checkBounds(desired(manifest('payroll')), 'kubernetes', '/state');
    expect(await verdict(check)).toBe('OUT_OF_BOUNDS');
  });

  it.each([
    ['objects of the platform', 'namespace.yaml', 'line', 'which is the platform'],
    ['values of other teams', 'manifests/db.yaml', 'salary', 'is not one that it may read'],
  ])('N91: fields of site values at the agent: %s -> OUT_OF_BOUNDS', async (_, file, input, message) => {
    const made = desired(manifest('shop'), {
      bounds: { secretSets: ['shop'], siteValues: ['line'] },
      siteInputs: [{ assignment: 'shop-web', input, file, pointer: '/0/data/a', value: 1 }],
    });
    const check = () => checkBounds(made, 'kubernetes', '/state');
    expect(await verdict(async () => check())).toBe('OUT_OF_BOUNDS');
    expect(check).toThrow(message);
    expect(() => checkBounds({ ...made, bounds: 'platform' }, 'kubernetes', '/state')).not.toThrow();
  });

  it.each([
    ['a set of its own', desired(manifest('shop'))],
    ['a set that a pattern grants', desired(manifest('sales-db'))],
    ["a package of the platform's own", desired(manifest('payroll'), { bounds: 'platform' })],
    ['a bundle from before bounds', desired(manifest('payroll'), { bounds: 'unsaid' })],
    ['what is not YAML, which fails when it is planned', desired('a: [fleet-ferry/secret-set')],
  ])('is accepted: %s', (_, made) => {
    expect(() => checkBounds(made, 'kubernetes', '/state')).not.toThrow();
  });
});

test("boundsOf returns the bundle's bounds, or without them whether the package has a workspace", () => {
  expect(boundsOf({ bounds, workspace: 'printing' })).toBe(bounds);
  expect(boundsOf({ workspace: 'printing' })).toBe('unsaid');
  expect(boundsOf({ workspace: '' })).toBe('platform');
  expect(boundsOf({})).toBe('platform');
});
