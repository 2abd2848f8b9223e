import { describe, expect, it } from 'vitest';
import { hostTarget, type Run } from '../../../../agent/apply/host/host-target.ts';
import { applyTo, lines, never, packageOf, sandbox } from './sandbox.ts';

type Unit = { active: string; enabled: string; loaded?: boolean };

/**
 * Writes down what systemctl is asked to do, in which order; that systemd then does it is shown on a booted host
 * (test/integration/hosts/host-target.test.ts). Questions are answered from `units`.
 */
const recorder = (units: Record<string, Unit>) => {
  const calls: string[] = [];
  const run: Run = (argv) => {
    const words = argv.slice(3).filter((word) => word !== '--' && !word.startsWith('--root='));
    const names = words.filter((word, index) => index > 0 && !word.startsWith('--'));
    const name = names.at(-1) ?? '';
    const unitOf = (one: string) => units[one] ?? { active: 'inactive', enabled: 'not-found' };
    const unit = unitOf(name);
    const ok = (stdout = '') => Promise.resolve({ code: 0, stdout, stderr: '' });
    switch (words[0] ?? '') {
      case 'show': {
        if (words.includes('--property=UnitPath')) return ok('/etc/systemd/system /usr/lib/systemd/system\n');
        const blocks = names.map((one) => {
          const { active, enabled } = unitOf(one);
          const load = enabled === 'not-found' ? 'not-found' : 'loaded';
          return `LoadState=${load}\nActiveState=${active}\nSubState=x\nNeedDaemonReload=no\n`;
        });
        return ok(blocks.join('\n'));
      }
      case 'is-enabled': {
        // systemd 252 stops at the first that does not exist.
        const known = names.map((one) => unitOf(one).enabled);
        const end = known.indexOf('not-found');
        const stdout = (end < 0 ? known : known.slice(0, end)).map((word) => `${word}\n`).join('');
        return end < 0
          ? ok(stdout)
          : Promise.resolve({ code: 1, stdout, stderr: 'No such file or directory' });
      }
      case 'reset-failed':
        return ok();
      case 'enable':
      case 'disable':
        units[name] = { ...unit, enabled: `${words[0]}d` };
        break;
      case 'start':
      case 'restart':
        units[name] = { ...unit, active: 'active' };
        break;
      case 'stop':
        units[name] = { ...unit, active: 'inactive' };
        break;
      default:
    }
    calls.push(words.join(' '));
    return ok();
  };
  return { calls, run, take: () => calls.splice(0) };
};

/** With '/' as its root the target would write to this machine: only units and no files are planned here. */
const onRealRoot = async (run: Run) => {
  const host = await sandbox();
  return Object.assign(host, {
    target: hostTarget({ ...host.options, root: '/', services: 'systemd', run }),
  });
};

const unit = (name: string, restartOn: readonly string[] = []) => ({
  name,
  enabled: true,
  active: true,
  restartOn,
});

describe('units', () => {
  it('are enabled and started in the listed order, unchanged by a second apply, and stopped in reverse', async () => {
    const { run, take } = recorder({});
    await using host = await onRealRoot(run);
    const desired = packageOf({ units: [unit('b.service'), unit('a.service')] });
    const { results } = await applyTo(host.target, host.inventory, desired);
    expect(lines(results)).toEqual([
      'created unit:b.service: not-found -> enable; start: it is not-found',
      'created unit:a.service: not-found -> enable; start: it is not-found',
    ]);
    expect(take()).toEqual(['enable b.service', 'start b.service', 'enable a.service', 'start a.service']);
    expect(lines((await applyTo(host.target, host.inventory, desired)).plan.steps)).toEqual([]);
    await applyTo(host.target, host.inventory, undefined);
    expect(take()).toEqual(['stop a.service', 'disable a.service', 'stop b.service', 'disable b.service']);
  });

  it('of the host are restored to their original state', async () => {
    const { run, take } = recorder({ 'ssh.service': { active: 'active', enabled: 'enabled' } });
    await using host = await onRealRoot(run);
    const off = packageOf({ units: [{ name: 'ssh.service', enabled: false, active: false }] });
    await applyTo(host.target, host.inventory, off);
    expect(take()).toEqual(['disable ssh.service', 'stop ssh.service']);
    const { results } = await applyTo(host.target, host.inventory, undefined);
    expect(lines(results)[0]).toMatch(/^configured unit:ssh.service: back to what it was before the package/);
    expect(take()).toEqual(['enable ssh.service', 'start ssh.service']);
  });

  it('that failed or were stopped or disabled by hand are drift, and a fresh plan corrects them', async () => {
    const units: Record<string, Unit> = {};
    const { run, take } = recorder(units);
    await using host = await onRealRoot(run);
    const desired = packageOf({ units: [unit('a.service'), unit('b.service'), unit('c.service')] });
    await applyTo(host.target, host.inventory, desired);
    take();
    units['a.service'] = { active: 'failed', enabled: 'enabled' };
    units['b.service'] = { active: 'inactive', enabled: 'disabled' };
    const drifts = await host.target.observe(desired, host.inventory.owned, never);
    expect(drifts.map(({ key, what }) => `${key} ${what}`)).toEqual([
      'unit:a.service failed',
      'unit:b.service disabled',
      'unit:b.service inactive',
    ]);
    await applyTo(host.target, host.inventory, desired);
    expect(take()).toEqual(['start a.service', 'enable b.service', 'start b.service']);
  });

  it('unloaded by systemd before their stop count as stopped; another error of stop fails', async () => {
    const units: Record<string, Unit> = {};
    const { run } = recorder(units);
    let isUnloaded = true;
    await using host = await onRealRoot(async (argv, options) => {
      if (argv[3] === 'is-system-running') return { code: 0, stdout: 'running\n', stderr: '' };
      if (argv[3] !== 'stop') return run(argv, options);
      if (isUnloaded) units['a.service'] = { active: 'inactive', enabled: 'not-found' };
      return { code: 5, stdout: '', stderr: 'Failed to stop a.service: Unit a.service not loaded.' };
    });
    const desired = packageOf({ units: [unit('a.service')] });
    await applyTo(host.target, host.inventory, desired);
    const { results } = await applyTo(host.target, host.inventory, undefined);
    expect(lines(results)).toEqual([
      'deleted unit:a.service: no longer in the package: stopped and disabled',
    ]);

    await applyTo(host.target, host.inventory, desired);
    isUnloaded = false;
    await expect(applyTo(host.target, host.inventory, undefined)).rejects.toMatchObject({
      code: 'UNIT_FAILED',
    });
  });

  it('are queried with the same number of processes for thirty units as for one', async () => {
    const started = async (count: number): Promise<readonly string[]> => {
      const { run } = recorder({});
      const words: string[] = [];
      await using host = await onRealRoot((argv, options) => {
        words.push(argv[3] ?? '');
        return run(argv, options);
      });
      const units = Array.from({ length: count }, (_, index) => unit(`u${index}.service`));
      const desired = packageOf({ units });
      await applyTo(host.target, host.inventory, desired);
      words.splice(0);
      expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
      await host.target.plan(desired, host.inventory.owned, new Map(), never);
      return words;
    };
    expect(await started(30)).toEqual(['is-enabled', 'show', 'is-enabled', 'show']);
    expect(await started(1)).toEqual(await started(30));
  });

  it('that are missing are reported by name', async () => {
    const units: Record<string, Unit> = {};
    const { run } = recorder(units);
    await using host = await onRealRoot(run);
    const desired = packageOf({ units: ['a', 'b', 'c', 'd'].map((name) => unit(`${name}.service`)) });
    await applyTo(host.target, host.inventory, desired);
    delete units['b.service'];
    delete units['d.service'];
    units['c.service'] = { active: 'active', enabled: 'disabled' };
    const drifts = await host.target.observe(desired, host.inventory.owned, never);
    expect(drifts.map(({ key, what }) => `${key} ${what}`)).toEqual([
      'unit:b.service missing',
      'unit:c.service disabled',
      'unit:d.service missing',
    ]);
  });

  it('of other packages are restarted when a drop-in of this package applies to them and they run', async () => {
    const active = { active: 'active', enabled: 'enabled' };
    const { run } = recorder({ 'press-b.service': active, 'mill.service': active });
    await using host = await onRealRoot(run);
    const folder = '/etc/systemd/system/press-.service.d';
    const desired = packageOf({ files: { [`${folder}/10-by.conf`]: '[Service]\nEnvironment=BY=us\n' } });
    const taken = new Map(['press-b.service', 'mill.service'].map((name) => [`unit:${name}`, 'other/host']));
    const { steps } = await host.target.plan(desired, [], taken, never);
    expect(lines(steps).filter((line) => line.includes(' unit:'))).toEqual([
      'configured unit:press-b.service: restart: a file it reads changed',
    ]);
  });

  it('are an error when systemd cannot be asked, never in sync', async () => {
    const run: Run = () => Promise.resolve({ code: 1, stdout: '', stderr: 'Failed to connect to bus' });
    await using host = await onRealRoot(run);
    const desired = packageOf({ units: [unit('a.service')] });
    await expect(host.target.observe(desired, [], never)).rejects.toMatchObject({ code: 'IO' });
    await expect(host.target.plan(desired, [], new Map(), never)).rejects.toMatchObject({ code: 'IO' });
  });
});

describe('a foreign drop-in', () => {
  const dropIn = '/etc/systemd/system/a.service.d/override.conf';
  const own = { '/etc/systemd/system/a.service': '[Service]\nExecStart=/bin/true\n' };

  it("of a unit in the package is drift and removed; the package's own drop-ins stay", async () => {
    await using host = await sandbox();
    const ours = '/etc/systemd/system/a.service.d/10-ours.conf';
    const desired = packageOf({ files: { ...own, [ours]: '[Service]\n' }, units: [unit('a.service')] });
    await applyTo(host.target, host.inventory, desired);
    await host.put(dropIn, '[Service]\nUser=root\n');
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([
      {
        key: `file:${dropIn}`,
        what: 'drop-in',
        message: `${dropIn} changes a.service and is not of the package`,
      },
    ]);
    await applyTo(host.target, host.inventory, desired, new Map([[`file:${dropIn}`, 'another']]));
    expect(await host.read(dropIn)).toContain('User=root');
    const { results } = await applyTo(host.target, host.inventory, desired);
    expect(lines(results).filter((line) => line.includes(dropIn))).toEqual([
      expect.stringMatching(
        /^deleted .*: a drop-in that is not of the package; a copy is kept as [0-9a-f]{12}$/,
      ),
    ]);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
    expect(await host.tree()).toContain(`${ours.slice(1)} file 644 [Service]\n`);
  });

  it('of a unit of the host stays when it existed before the package', async () => {
    await using host = await sandbox();
    await host.put(dropIn, '[Service]\n');
    const desired = packageOf({ units: [unit('a.service')] });
    await applyTo(host.target, host.inventory, desired);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
    await host.put(dropIn.replace('override', 'later'), '[Service]\n');
    const drifts = await host.target.observe(desired, host.inventory.owned, never);
    expect(drifts.map(({ what }) => what)).toEqual(['drop-in']);
    await applyTo(host.target, host.inventory, desired);
    expect(await host.read(dropIn)).toBe('[Service]\n');
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
  });
});

describe('units on a host without an init system', () => {
  it('are skipped, never configured, checks included', async () => {
    await using host = await sandbox();
    const desired = packageOf({
      files: { '/etc/systemd/system/a.service': '[Service]\n' },
      units: [unit('a.service')],
      checks: [{ type: 'unit', name: 'up', unit: 'a.service', stableSeconds: 1 }],
    });
    const { results } = await applyTo(host.target, host.inventory, desired);
    expect(lines(results)).toContain('skipped unit:a.service: no init');
    expect(await host.target.settle(desired, never)).toEqual([
      { name: 'up', outcome: 'skipped', message: 'a.service is not watched: no init' },
    ]);
    expect(await host.target.observe(desired, host.inventory.owned, never)).toEqual([]);
    const { plan } = await applyTo(host.target, host.inventory, undefined);
    expect(lines(plan.steps)).toContain('skipped unit:a.service: no init');
  });
});

describe('units below another root', () => {
  it('are enabled there, and neither started nor reloaded', async () => {
    const { run, take } = recorder({});
    await using host = await sandbox({ services: 'systemd', run });
    const desired = packageOf({
      files: { '/etc/systemd/system/a.service': '[Service]\n' },
      units: [unit('a.service')],
    });
    const { results } = await applyTo(host.target, host.inventory, desired);
    expect(lines(results).slice(-2)).toEqual([
      'created unit:a.service: not-found -> enable',
      'skipped unit:a.service: not started or stopped: root is not /',
    ]);
    expect(take()).toEqual(['enable a.service']);
  });
});
