import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RebootPolicy } from '#bundles/formats/bundle/config';
import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { parseWindows } from '#bundles/windows';
import { holdSite, releaseSite } from '../../../../agent/apply/operator/hold-site.ts';
import { importMedium } from '../../../../agent/daemon/import-medium.ts';
import type { Machine, RebootCause } from '../../../../agent/model/machine.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../../agent/observe/read-status.ts';
import { describeRebootStatus } from '../../../../agent/observe/reboot/reboot-status.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import { saveCondition } from '../../../../agent/store/conditions.ts';
import { packTestBundle } from '../../../harness/fleets/signed-medium.ts';
import { folderTarget } from '../../folder-target.ts';
import { createWorld, NOW, onePackage, testAgent, type World } from '../../world.ts';

const KERNEL: RebootCause = {
  key: 'kernel:6.1.0-28-amd64',
  message: 'kernel 6.1.0-28-amd64 is installed, and 6.1.0-27-amd64 runs',
};
const LIBC: RebootCause = { key: 'package:libc6=2.36-10', message: 'libc6 2.36-10 asks for it' };
const HOUR_MS = 3_600_000;
const OFFLINE = { registry: '', hub: '', windows: [] };

/** The tests run in any time zone: windows are computed from local time. */
const hourOf = (date: Date): number => date.getHours();
const OPEN: RebootPolicy = { windows: [`0 ${hourOf(NOW)} * * * for 1h`] };

class Killed extends Error {}

/** A machine that only counts its boots, and an agent on it. What is cured by a boot is gone after it. */
const machineOf = (world: World, policy: RebootPolicy | undefined) => {
  let boot = 1;
  let at = NOW.getTime();
  let causes: readonly RebootCause[] = [];
  let cures = true;
  let services: readonly string[] = [];
  let work: string | undefined;
  let kernelBoot: string | undefined;
  let refuses: string | undefined;
  let version = 0;
  let tellsBoots = true;
  const asked: string[] = [];
  const machine: Machine = {
    boot: () => (tellsBoots ? `boot-${boot}` : undefined),
    rebootNeed: async () => ({ causes, services }),
    atWork: async () => work,
    reboot: async () => {
      if (refuses !== undefined) throw new FleetError('REBOOT_REFUSED', refuses);
      asked.push(`boot-${boot}`);
    },
  };
  const agent = (more: Partial<Agent> = {}): Agent =>
    testAgent(world.agent.state, world.folder, {
      targets: [{ ...folderTarget(join(world.folder, 'machine')), machine }],
      edge: {
        now: () => new Date(at),
        monotonicMs: () => at - NOW.getTime(),
        bootId: kernelBoot ?? `boot-${boot}`,
        clockTrusted: true,
        operator: 'anna',
      },
      ...more,
    });
  const reboot = (): void => {
    boot += 1;
    at += 60_000;
    if (cures) causes = [];
  };
  const release = async (...packages: Parameters<typeof packTestBundle>[1]) => {
    version += 1;
    const bundle = packTestBundle(world.fleet, packages, undefined, policy);
    await importMedium(agent(), await world.medium({ release: { version, bundle } }));
  };
  return {
    asked,
    agent,
    reboot,
    release,
    needs: (...all: readonly RebootCause[]) => {
      causes = all;
    },
    /** Something that a boot does not end. */
    stays: () => {
      cures = false;
    },
    uses: (...names: readonly string[]) => {
      services = names;
    },
    /** As a system container, which has the boot id of its kernel. */
    isContainer: () => {
      kernelBoot = 'boot-of-the-kernel';
    },
    hidesBoots: () => {
      tellsBoots = false;
    },
    works: (why: string | undefined) => {
      work = why;
    },
    refuses: (why: string | undefined) => {
      refuses = why;
    },
    passes: (hours: number) => {
      at += hours * HOUR_MS;
    },
    now: () => new Date(at),
    /** A look of the daemon. The system goes down as soon as it agreed to. */
    look: async (more: Partial<Agent> = {}, windows: readonly string[] = []) => {
      const down = new AbortController();
      const before = asked.length;
      const going = setInterval(() => {
        if (asked.length > before) down.abort();
      }, 1);
      try {
        await lookAround(agent({ signal: down.signal, ...more }), {
          mayReboot: { windows: parseWindows(windows) },
        });
      } catch (error) {
        if (!down.signal.aborted) throw error;
      } finally {
        clearInterval(going);
      }
    },
    status: () => readStatus(agent(), OFFLINE).reboot,
    waits: () => readStatus(agent(), OFFLINE).reboot.required?.waits,
    events: () =>
      world
        .events()
        .flatMap(({ type, code, message, outcome }) =>
          type === 'reboot' ? [[code ?? outcome ?? '', message]] : [],
        ),
  };
};

describe('a host that needs a reboot', () => {
  it('is rebooted within the window of the policy, once, and reported healthy afterwards', async () => {
    await using world = await createWorld();
    const host = machineOf(world, OPEN);
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL);
    await host.look();
    expect(host.asked).toEqual(['boot-1']);
    host.reboot();
    for (let looks = 0; looks < 3; looks++) await host.look();
    expect(host.asked).toEqual(['boot-1']);
    expect(host.events()).toEqual([
      ['REBOOT_REQUIRED', `a reboot is required: ${KERNEL.message}`],
      ['', `the host reboots: ${KERNEL.message}`],
      ['unchanged', 'no reboot is required'],
      ['unchanged', 'rebooted, healthy'],
    ]);
    expect(host.status()).toMatchObject({ required: null, underWay: null, last: { unwell: [] } });
    expect(describeRebootStatus(host.status())).toEqual([
      `by the agent at ${formatTime(NOW)}; healthy after it`,
    ]);
  });

  it('is only reported without a reboot policy, and by looks that commands make', async () => {
    await using world = await createWorld();
    const host = machineOf(world, undefined);
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL, LIBC);
    await host.look();
    expect(host.asked).toEqual([]);
    expect(describeRebootStatus(host.status())).toEqual([
      `required since ${formatTime(NOW)}: ${KERNEL.message}; ${LIBC.message}; waits for a person: the release has no reboot policy for this cluster type`,
    ]);
    await using other = await createWorld();
    const ruled = machineOf(other, OPEN);
    await ruled.release(onePackage('app', 'one'));
    ruled.needs(KERNEL);
    await lookAround(ruled.agent());
    expect(ruled.asked).toEqual([]);
    expect(ruled.waits()).toBe('the next look of the service');
  });

  it('waits for the windows of the policy and of its own configuration', async () => {
    await using world = await createWorld();
    const next = new Date(NOW.getTime() + 5 * HOUR_MS);
    const host = machineOf(world, { windows: [`0 ${hourOf(next)} * * * for 2h`] });
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL);
    await host.look();
    expect(host.waits()).toBe(`the window that opens at ${formatTime(next)}`);
    const later = new Date(next.getTime() + HOUR_MS);
    const own = [`0 ${hourOf(later)} * * * for 8h`];
    await host.look({}, own);
    expect(host.waits()).toBe(`the window that opens at ${formatTime(later)}`);
    host.passes(5);
    await host.look({}, own);
    await host.look({}, [`0 ${hourOf(new Date(next.getTime() + 6 * HOUR_MS))} * * * for 1m`]);
    expect(host.waits()).toContain('never meet');
    expect(host.asked).toEqual([]);
    host.passes(1);
    await host.look({}, own);
    expect(host.asked).toEqual(['boot-1']);
  });

  it('is not rebooted while an operator holds the site, when stale, or after a break-glass import', async () => {
    await using world = await createWorld();
    const host = machineOf(world, { windows: ['* * * * * for 1h'] });
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL);
    await holdSite(host.agent(), undefined, 'batch 17');
    await host.look();
    expect(host.waits()).toContain('the end of the hold: held by anna: batch 17');
    releaseSite(host.agent());
    saveCondition(world.agent.state, 'glass', {
      operator: 'anna',
      reason: 'line stands still',
      at: formatTime(NOW),
      release: 1,
      relaxed: ['release'],
    });
    await host.look();
    expect(host.waits()).toContain('expired statements were imported');
    saveCondition(world.agent.state, 'glass', undefined);
    host.passes(400 * 24);
    await host.look();
    expect(host.waits()).toContain('stale since');
    expect(host.asked).toEqual([]);
  });

  it('is not rebooted while its package manager works, during an operation, or while health is judged', async () => {
    await using world = await createWorld();
    const host = machineOf(world, OPEN);
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL);
    host.works('other work: the Debian packages of this host are being changed');
    await host.look();
    expect(host.waits()).toBe('other work: the Debian packages of this host are being changed');
    host.works(undefined);
    await lookAround(host.agent(), {
      mayReboot: { windows: parseWindows([]) },
      waits: { isWaiting: () => true, wait: async () => {} },
    });
    expect(host.waits()).toBe('the health of app, which is being judged');
    const news = AbortSignal.abort();
    await host.look({ news });
    expect(host.waits()).toContain('a newer release');
    expect(host.asked).toEqual([]);
    await host.look();
    expect(host.asked).toEqual(['boot-1']);
  });

  it('is not rebooted when allowReboot is false, and shows so in its status', async () => {
    await using world = await createWorld();
    const host = machineOf(world, OPEN);
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL);
    const vetoed = { policy: { ...world.agent.policy, allowReboot: false } };
    await host.look(vetoed);
    await lookAround(host.agent(vetoed));
    expect(host.asked).toEqual([]);
    expect(host.waits()).toBe(
      'a person: allowReboot is false in the configuration of this machine, so the agent does not reboot it',
    );
    expect(host.events()).toEqual([['REBOOT_REQUIRED', `a reboot is required: ${KERNEL.message}`]]);
    await host.look();
    expect(host.asked).toEqual(['boot-1']);
  });

  it('is not rebooted again for a cause that a reboot did not clear, nor within 12 hours for other causes', async () => {
    await using world = await createWorld();
    const host = machineOf(world, { windows: ['* * * * * for 1h'] });
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL);
    host.stays();
    await host.look();
    host.reboot();
    for (const hours of [0, 1, 24, 24 * 40]) {
      host.passes(hours);
      await host.look();
    }
    expect(host.asked).toEqual(['boot-1']);
    expect(host.waits()).toContain('for the same cause, and does so once');
    // The office hears that it now waits for a person.
    expect(host.events().filter(([code]) => code === 'REBOOT_REQUIRED')).toHaveLength(2);
    host.needs(KERNEL, LIBC);
    await host.look();
    expect(host.asked).toEqual(['boot-1', 'boot-2']);
    host.reboot();
    const third = { key: 'file:1234', message: '/run/reboot-required is there' };
    host.needs(KERNEL, LIBC, third);
    await host.look();
    expect(host.waits()).toContain('12 hours after the last reboot');
    host.passes(12);
    await host.look();
    expect(host.asked).toEqual(['boot-1', 'boot-2', 'boot-3']);
    // The clock of a machine without a battery begins anew.
    host.reboot();
    host.needs({ key: 'file:5678', message: 'again' });
    host.passes(-24 * 30);
    await host.look();
    expect(host.asked).toHaveLength(3);
  });

  it('is reported with the packages that are not healthy after the reboot', async () => {
    await using world = await createWorld();
    const host = machineOf(world, OPEN);
    await host.release(onePackage('app', 'one'), onePackage('bad', 'refuse'));
    host.needs(KERNEL);
    await host.look();
    host.reboot();
    const agent = host.agent();
    const broken = {
      ...agent,
      targets: agent.targets.map((target) => ({
        ...target,
        observe: async () => {
          throw new FleetError('IO', 'the disk is gone');
        },
      })),
    };
    await host.look({ targets: broken.targets });
    await host.look({ targets: broken.targets });
    // What cannot be compared is not judged, so the reboot is not called healthy.
    expect(host.events().some(([, message]) => message?.startsWith('rebooted'))).toBe(false);
    expect(host.status().last).toMatchObject({ judged: null });
    await host.look();
    await host.look();
    expect(host.events().at(-1)).toEqual(['unchanged', 'rebooted, healthy']);
  });

  it('reports once that the system refuses the reboot, and asks again', async () => {
    await using world = await createWorld();
    const host = machineOf(world, OPEN);
    await host.release(onePackage('app', 'one'));
    host.needs(KERNEL);
    host.refuses('Operation inhibited by "unattended-upgrades"');
    await host.look();
    await host.look();
    expect(host.events().filter(([code]) => code === 'REBOOT_REFUSED')).toHaveLength(1);
    expect(describeRebootStatus(host.status())).toContain(
      'refused: Operation inhibited by "unattended-upgrades"',
    );
    host.refuses(undefined);
    await host.look();
    expect(host.asked).toEqual(['boot-1']);
    expect(host.status().refused).toBeNull();
  });

  it.each([false, true])(
    'is not rebooted endlessly when its kernel does not show boots (shown by process 1: %s)',
    async (told) => {
      await using world = await createWorld();
      const host = machineOf(world, { windows: ['* * * * * for 1h'] });
      await host.release(onePackage('app', 'one'));
      host.isContainer();
      if (!told) host.hidesBoots();
      host.needs(LIBC);
      host.stays();
      for (let looks = 0; looks < 4; looks++) {
        const before = host.asked.length;
        await host.look();
        if (host.asked.length > before) host.reboot();
        host.passes(24);
      }
      expect(host.asked).toEqual(told ? ['boot-1'] : []);
      expect(host.waits()).toContain(told ? 'for the same cause' : 'cannot distinguish the boots');
      expect(host.events().filter(([, message]) => message === 'rebooted, healthy')).toHaveLength(
        told ? 1 : 0,
      );
    },
  );

  it('reports services that use old libraries, without a reboot', async () => {
    await using world = await createWorld();
    const host = machineOf(world, OPEN);
    await host.release(onePackage('app', 'one'));
    host.uses('cron.service', 'ssh.service');
    await host.look();
    await host.look();
    expect(host.events()).toEqual([
      [
        'unchanged',
        'no reboot is required; these services use libraries of before an upgrade: cron.service, ssh.service',
      ],
    ]);
    expect(describeRebootStatus(host.status())).toEqual([
      'cron.service, ssh.service use libraries of before an upgrade, until restarted',
    ]);
  });

  it.each(['reboot need', 'reboot decided', 'reboot asked'])(
    'survives a kill after "%s", also when a power cut at that point is the reboot',
    async (point) => {
      for (const isCut of [false, true]) {
        await using world = await createWorld();
        const host = machineOf(world, OPEN);
        await host.release(onePackage('app', 'one'));
        host.needs(KERNEL);
        const onJournal = (passed: string): void => {
          if (passed === point) throw new Killed();
        };
        await expect(host.look({ onJournal })).rejects.toThrow(Killed);
        if (isCut) host.reboot();
        await host.look();
        if (!isCut && host.asked.length > 0) host.reboot();
        for (let looks = 0; looks < 3; looks++) await host.look();
        // Before the decision a power cut has nothing to do with the agent; after it, it is the reboot.
        const isDecided = point !== 'reboot need' || !isCut;
        const judged = host.events().filter(([, message]) => message === 'rebooted, healthy');
        expect([point, isCut, judged.length]).toEqual([point, isCut, isDecided ? 1 : 0]);
        expect(new Set(host.asked).size).toBeLessThanOrEqual(1);
        expect(host.status().underWay).toBeNull();
      }
    },
  );
});
