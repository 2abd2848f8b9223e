import { afterAll, beforeAll, expect, it } from 'vitest';
import { installRestrictedDaemon } from '../../agent/apply/host/restricted-daemon.ts';
import { describeOnDebian } from '../../harness/hosts/describe-on-debians.ts';
import { build, KEY, type PlaybooksHost, setup, startPlaybooksHost, tasks } from './playbooks-host/world.ts';

describeOnDebian(12, 'sid')([], 'the processes of a step in its unit', ({ base, debian, itOnce }) => {
  let world: PlaybooksHost;
  let apply: Awaited<ReturnType<typeof installRestrictedDaemon>>;
  beforeAll(async () => {
    world = await startPlaybooksHost(`steps-${debian}`, base);
    await world.sh('mkdir -p /var/lib/agent');
    apply = await installRestrictedDaemon(world.host);
  });
  afterAll(() => world?.host.remove());

  const run = async (script: string, more = '') => {
    const shell = JSON.stringify(script);
    const built = await build(setup(more), {
      'ansible/site.yml': tasks(`    - name: script\n      shell: ${shell}\n`),
    });
    return await apply({ verb: 'apply', spec: null, built });
  };
  /** The process ids of a sleep of so many seconds. */
  const pidsOf = (seconds: number): Promise<string> =>
    world.sh(
      `for it in /proc/[0-9]*; do [ "$(tr '\\0' ' ' < $it/cmdline)" = 'sleep ${seconds} ' ] && echo \${it#/proc/}; done 2> /dev/null`,
    );
  const isRunning = async (seconds: number): Promise<boolean> => (await pidsOf(seconds)) !== '';
  const groupOf = async (seconds: number): Promise<string> =>
    world.sh(`grep -E 'name=systemd|^0::' /proc/${await pidsOf(seconds)}/cgroup`);

  it('continue in a scope of their own when a program started them on purpose and may use the network', async () => {
    expect(await run('setsid sleep 98801 > /dev/null 2>&1 < /dev/null &')).toContain(`${KEY}: 1 changed`);
    expect(await groupOf(98_801)).toMatch(/\/system\.slice\/fleet-agent-left-[0-9a-f]{32}-\d+\.scope/);
    expect(await groupOf(98_801)).not.toContain('runner');
    expect(await world.sh("systemctl list-units --no-legend 'fleet-agent-left-*' | wc -l")).toBe('1');
    await world.sh(`kill ${await pidsOf(98_801)}`);
    await expect
      .poll(() => world.sh("systemctl list-units --all --no-legend 'fleet-agent-left-*' | wc -l"))
      .toBe('0');
  });

  itOnce('are killed by their control group at the limit, in any session and environment', async () => {
    const script = 'env -i /usr/bin/setsid sleep 98802 > /dev/null & (setsid sleep 98803 &) ; sleep 98804';
    expect(await run(script, ', timeoutSeconds: 8')).toContain('did not end within 8 s and was killed');
    for (const sleep of [98_802, 98_803, 98_804]) expect(await isRunning(sleep), `${sleep}`).toBe(false);
  });

  itOnce('are killed when the runner is killed', async () => {
    const ended = run('setsid sleep 98805 > /dev/null & sleep 600');
    await expect.poll(() => isRunning(98_805)).toBe(true);
    await world.sh("systemctl kill --kill-who=main --signal=KILL 'fleet-agent-runner@*'");
    expect(await ended).toContain('ended without a result');
    expect(await isRunning(98_805)).toBe(false);
  });
});
