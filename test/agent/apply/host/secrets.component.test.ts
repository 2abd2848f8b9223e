import { existsSync } from 'node:fs';
import { mkdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { hostTarget, type Run } from '../../../../agent/apply/host/host-target.ts';
import type { DesiredPackage } from '../../../../agent/model/target.ts';
import { keyedHash } from '../../../../agent/secrets/open-package.ts';
import { tracesBelow, tracesIn } from '../../secrets/traces-of.ts';
import { applyTo, lines, never, type PackageSpec, packageOf, sandbox } from './sandbox.ts';

const ONE = 'MARKER-first-password-8c1f';
const TWO = 'MARKER-second-password-77ab';
const PATH = '/run/app/password';

/** A package with one secret at PATH, opened. */
const withSecret = (value: string, spec: PackageSpec = {}, path = PATH): DesiredPackage => {
  const desired = packageOf(spec);
  const document = JSON.parse(desired.files.get('package.json')?.toString() ?? '{}') as object;
  const secret = { path, mode: '0600', owner: 'root', group: 'root', set: 'db', key: 'password' };
  const json = Buffer.from(JSON.stringify({ ...document, secrets: [secret], critical: ['secrets'] }));
  const values = { password: Buffer.from(value).toString('base64') };
  return {
    ...desired,
    package: digestOf(json),
    files: new Map([...desired.files, ['package.json', json]]),
    secrets: {
      sealed: [{ name: 'db', digest: digestOf(value) }],
      sets: new Map([['db', { fleet: 'halden', site: 'plant-7', name: 'db', version: 1, values }]]),
      decrypted: new Set(),
      hash: keyedHash('AGE-SECRET-KEY-1TEST'),
    },
  };
};

describe('a file made of a secret', () => {
  it('is created with its folders, unchanged when it is correct, and removed with them', async () => {
    await using host = await sandbox();
    const { plan, results } = await applyTo(host.target, host.inventory, withSecret(ONE));
    expect(lines(results)).toEqual([
      'created parent:/run: missing',
      'created parent:/run/app: missing',
      `created secret:${PATH}: missing`,
    ]);
    expect(tracesIn('the plan', JSON.stringify(plan), [ONE])).toEqual([]);
    expect(lines((await applyTo(host.target, host.inventory, withSecret(ONE))).plan.steps)).toEqual([]);
    await applyTo(host.target, host.inventory, undefined);
    expect(existsSync(host.at('/run'))).toBe(false);
  });

  it('replaces a file without a copy of it, which may be a secret, too', async () => {
    await using host = await sandbox();
    await host.put(PATH, TWO);
    await applyTo(host.target, host.inventory, withSecret(ONE));
    expect(await host.read(PATH)).toBe(ONE);
    await host.put(PATH, TWO);
    const drift = await host.target.observe(withSecret(ONE), host.inventory.owned, never);
    expect(drift).toMatchObject([
      { what: 'content', message: `${PATH} has other content than its secret` },
      { what: 'mode' },
    ]);
    await applyTo(host.target, host.inventory, undefined);
    expect(existsSync(host.at(PATH))).toBe(false);
    expect(
      existsSync(host.options.backups) ? await tracesBelow(host.options.backups, [ONE, TWO]) : [],
    ).toEqual([]);
  });

  it('replaces a symbolic link without following it', async () => {
    await using host = await sandbox();
    await mkdir(host.at('/run/app'), { recursive: true });
    await writeFile(host.at('/etc/target'), 'x');
    await symlink('/etc/target', host.at(PATH));
    await applyTo(host.target, host.inventory, withSecret(ONE));
    expect(await host.read('/etc/target')).toBe('x');
    await expect(readlink(host.at(PATH))).rejects.toMatchObject({ code: 'EINVAL' });
  });

  it('and a plain file of the package may replace each other, without a copy of the secret', async () => {
    await using host = await sandbox();
    const plain = packageOf({ files: { [PATH]: 'plain' } });
    await applyTo(host.target, host.inventory, withSecret(ONE));
    await applyTo(host.target, host.inventory, plain);
    expect(await host.read(PATH)).toBe('plain');
    await applyTo(host.target, host.inventory, withSecret(TWO));
    expect(await host.read(PATH)).toBe(TWO);
    expect(JSON.stringify(host.inventory.owned)).not.toContain('replaced');
    expect(
      existsSync(host.options.backups) ? await tracesBelow(host.options.backups, [ONE, TWO]) : [],
    ).toEqual([]);
  });

  it('cannot have a path of another package, as a secret or as a file', async () => {
    await using host = await sandbox();
    const plan = (key: string, desired: DesiredPackage) =>
      host.target.plan(desired, [], new Map([[key, 'other']]), never);
    for (const key of [`secret:${PATH}`, `file:${PATH}`, `directory:${PATH}`])
      await expect(plan(key, withSecret(ONE)), key).rejects.toMatchObject({ code: 'PATH_CLAIMED' });
    const plain = packageOf({ files: { [PATH]: 'plain' } });
    await expect(plan(`secret:${PATH}`, plain)).rejects.toMatchObject({ code: 'PATH_CLAIMED' });
  });

  it('restarts units that read it when it changes, and only a keyed hash of it is stored', async () => {
    await using host = await sandbox();
    const run: Run = (argv) =>
      Promise.resolve({
        code: 0,
        stdout: argv.includes('show')
          ? 'LoadState=loaded\nActiveState=active\nSubState=running\nNeedDaemonReload=no\n'
          : 'enabled\n',
        stderr: '',
      });
    const path = `/run/fleet-ferry-test-${process.pid}/password`;
    const unit = { name: 'app.service', enabled: true, active: true, restartOn: [path] };
    const real = hostTarget({ ...host.options, root: '/', services: 'systemd', run });
    const { steps } = await real.plan(withSecret(ONE, { units: [unit] }, path), [], new Map(), never);
    expect(steps.at(-1)).toMatchObject({
      key: 'unit:app.service',
      detail: {
        activity: 'restart',
        inputs: { [path]: expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/) },
      },
    });
    expect(steps.find(({ kind }) => kind === 'secret')?.detail['outdates']).toEqual(['app.service']);
    expect(tracesIn('the plan', JSON.stringify(steps), [ONE])).toEqual([]);
  });

  it('is restored when it is missing, without touching anything else', async () => {
    await using host = await sandbox();
    const desired = withSecret(ONE, { files: { '/etc/app.conf': 'a' } });
    await applyTo(host.target, host.inventory, desired);
    const restore = () => host.target.restore?.(desired, host.inventory.owned, never);
    expect(await restore()).toEqual([]);
    await host.put('/etc/app.conf', 'changed');
    await host.put(PATH, TWO);
    expect(await restore()).toEqual([]);
    await rm(host.at('/run'), { recursive: true });
    expect(await restore()).toEqual([PATH]);
    expect(await host.read(PATH)).toBe(ONE);
    expect(await host.read('/etc/app.conf')).toBe('changed');
  });
});
