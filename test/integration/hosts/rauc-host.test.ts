import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import { LONG } from '../../harness/run/long.ts';
import { nothing } from './debs-host/site-host.ts';
import { type HowMade, type SlotsHost, startSlotsHost } from './rauc-host/slots.ts';

/** The hosts' clock is fixed, at eight in the morning. */
const OPEN = { windows: ['0 8 * * * for 1h'] };
const PATIENCE = { timeout: 180_000, interval: 250 } as const;
const STATE = '/var/lib/fleet-agent';

type Status = {
  readonly unfinished: string | null;
  readonly packages: readonly {
    readonly assignment: string;
    readonly status: string;
    readonly code?: string;
    readonly message?: string;
  }[];
};

/** Whether the host has done what a power cut waits for, on the way to this version. */
type Cut = (site: SlotsHost, version: string) => Promise<boolean>;

const called = (call: string): Cut => {
  let before: number | undefined;
  const count = async (site: SlotsHost) => (await site.calls()).filter((one) => one.startsWith(call)).length;
  return async (site) => {
    const now = await count(site);
    before ??= now;
    return now > before;
  };
};
const asked: Cut = (site) => site.isThere(`${STATE}/rauc-reboot`);
const booted: Cut = async (site, version) => (await site.boots()).at(-1)?.endsWith(` ${version}`) ?? false;
const isBack: Cut = async (site, version) => !(await booted(site, version));
const tested: Cut = async (site, version) => (await site.tests()).includes(version);

/** The calls for the slot that is written are those of `set-state X bad`, `set-primary X` and, after the boot, `set-state X good`. */
const CUTS: readonly {
  readonly when: string;
  readonly seen: () => Cut;
  /** The host reboots before it. */
  readonly isAfter?: true;
}[] = [
  { when: 'RAUC begins to write the slot', seen: () => called('begin set-state') },
  { when: 'the slot is written and not yet the next one', seen: () => called('begin set-primary') },
  { when: 'the slot is the next one', seen: () => called('done set-primary') },
  { when: 'the reboot is about to be asked for', seen: () => asked },
  { when: 'the new system has been booted', seen: () => booted, isAfter: true },
  { when: 'its checks run', seen: () => tested, isAfter: true },
];

/** The same on the way back, from the boot of a system whose check fails. */
const WAYS_BACK: typeof CUTS = [
  { when: 'its check runs', seen: () => tested },
  { when: 'the slot before is about to become the next one', seen: () => called('begin set-primary') },
  { when: 'the slot before is the next one', seen: () => called('done set-primary') },
  { when: 'the reboot is about to be asked for', seen: () => asked },
  { when: 'the slot before has been booted', seen: () => isBack, isAfter: true },
  { when: 'the slot before is marked good', seen: () => called('begin set-state'), isAfter: true },
];

describeOnDebian(12)(['rauc'], 'a system by RAUC on a booted host', ({ base, debian }, { rauc }) => {
  let site: SlotsHost;
  beforeAll(async () => {
    site = await startSlotsHost(`slots-${debian}`, base, join(rauc, `debian-${debian}`));
  }, 300_000);
  afterAll(() => site?.[Symbol.asyncDispose]());

  const system = async () =>
    (JSON.parse((await site.agent('status --json')).stdout) as Status).packages.find(
      ({ assignment }) => assignment === 'system',
    );
  const explain = async (cause: unknown): Promise<never> => {
    const said = await site
      .sh('journalctl -u fleet-agent -u rauc -o cat --no-pager | tail -n 60')
      .catch(String);
    const calls = (await site.calls()).slice(-12).join(', ');
    throw new Error(`${(await site.boots()).join(', ')}\n${calls}\n${said}`, { cause });
  };
  const offer = async (version: string, how?: HowMade): Promise<void> => {
    await site.importWith(OPEN, nothing, await site.system(version, how));
  };
  const reboots = () => site.host.rebooted(PATIENCE.timeout).catch(explain);
  const reaches = (status: string) =>
    expect
      .poll(async () => (await system())?.status, PATIENCE)
      .toBe(status)
      .catch(explain);
  /** Boots the host as often as it reboots, until the agent has ended what it does. */
  const settled = async (): Promise<void> => {
    const limit = AbortSignal.timeout(PATIENCE.timeout);
    const isOpen = async () => {
      const { stdout } = await site.agent('status --json').catch(() => ({ stdout: '' }));
      return stdout === '' || (JSON.parse(stdout) as Status).unfinished !== null;
    };
    while (await isOpen()) {
      if (limit.aborted) await explain(new Error('the operation did not end'));
      await site.host.rebooted(3000).catch((error: unknown) => {
        if (!String(error).includes('did not go down')) throw error;
      });
    }
  };
  const lastBoots = async (count: number) => (await site.boots()).slice(-count);
  /** Cuts the power at a moment, and starts the host again. */
  const cutWhen = async (seen: Cut, version: string): Promise<void> => {
    const limit = AbortSignal.timeout(PATIENCE.timeout);
    while (!(await seen(site, version))) {
      if (limit.aborted) await explain(new Error('the moment did not come'));
      await sleep(10);
    }
    await site.host.crash();
    await site.host.start();
  };

  it('is written into the other slot, booted in a window of the platform, and marked good', async () => {
    expect(await site.boots()).toEqual(['A 1']);
    const two = await site.system('2');
    await site.importWith(undefined, nothing, two);
    await expect
      .poll(async () => (await system())?.message, PATIENCE)
      .toContain('the release has no reboot policy for this cluster type')
      .catch(explain);
    await site.importWith(OPEN, nothing, two);
    await reboots();
    await reaches('healthy');
    expect(await site.boots()).toEqual(['A 1', 'B 2']);
    expect((await site.calls()).at(-1)).toBe('done set-state B good');
    const { code, stderr } = await site.exec(
      'setpriv --reuid=65534 --clear-groups rauc status mark-active other',
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('Rejected send message')]);
  }, 600_000);

  it('gives way to the one before it when a check fails, and is not tried again', async () => {
    await offer('3', 'sick');
    await reboots();
    await reboots();
    await reaches('failed');
    expect(await lastBoots(3)).toEqual(['B 2', 'A 3', 'B 2']);
    expect((await system())?.message).toContain('selftest');
    expect((await site.tests()).filter((version) => version === '3')).toHaveLength(1);
  }, 600_000);

  it('fails when the boot loader does not start it', async () => {
    await offer('4', 'empty');
    await reboots();
    await reaches('failed');
    expect(await system()).toMatchObject({ code: 'RAUC_FAILED' });
    expect((await system())?.message).toContain('the boot loader did not start version 4');
    expect(await lastBoots(2)).toEqual(['B 2', 'B 2']);
  }, 600_000);

  it('is refused by RAUC if an unknown key signed it, and nothing is rebooted', async () => {
    const before = await site.boots();
    await offer('5', 'foreign');
    await reaches('failed');
    expect(await system()).toMatchObject({ code: 'RAUC_FAILED' });
    expect(await site.boots()).toEqual(before);
  }, 300_000);

  it.each(LONG ? CUTS : CUTS.slice(2, 3))(
    'is reached when the power is cut as soon as $when',
    async ({ when, seen, isAfter }) => {
      const version = `${10 + CUTS.findIndex((one) => one.when === when)}`;
      const cut = seen();
      await cut(site, version);
      await offer(version);
      if (isAfter) await reboots();
      await cutWhen(cut, version);
      await settled();
      await reaches('healthy');
      expect(await lastBoots(1)).toEqual([expect.stringMatching(new RegExp(` ${version}$`))]);
    },
    300_000,
  );

  it.runIf(LONG).each(WAYS_BACK)(
    'is left for the one before it when the power is cut as soon as $when',
    async ({ when, seen, isAfter }) => {
      const version = `${30 + WAYS_BACK.findIndex((one) => one.when === when)}`;
      const [before = ''] = await lastBoots(1);
      await offer(version, 'sick');
      await reboots();
      const cut = seen();
      await cut(site, version);
      if (isAfter) await reboots();
      await cutWhen(cut, version);
      await settled();
      await reaches('failed');
      expect(await lastBoots(1)).toEqual([before]);
    },
    300_000,
  );
});
