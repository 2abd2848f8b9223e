import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../harness/run/describe-with.ts';
import type { RegistryFault } from '../harness/neighbours/faulty-registry.ts';
import { isTried } from '../harness/run/long.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { eventsAtHub, faultsAtHub, toldTwice } from './reliability/hub-record.ts';
import { type OnlineOffice, startOnlineOffice } from './reliability/online-office.ts';
import { type OnlineSite, startOnlineSite } from './reliability/online-site.ts';
import { succeed } from '../harness/run/run-command.ts';

const SITE = 'plant-7';
const AGENT = 'plant-7/press-2';
const LABEL = '/etc/label-printer/label.zpl';
const STATE = '/var/lib/fleet-agent';

type Row = { readonly agent: string; readonly assignment: string; readonly verdict: string };

/**
 * One office, one host with a cable between them, and all that goes wrong there in a year. Each test leaves the host as the newest
 * release wants it.
 */
describeWith(
  ['factoryBase', 'dockerRegistry', 'faketime'],
  'a factory host with an unreliable network',
  ({ factoryBase, dockerRegistry, faketime }) => {
    const stack = new AsyncDisposableStack();
    let office: OnlineOffice;
    let site: OnlineSite;
    let stick = '';
    let label = 0;

    beforeAll(async () => {
      const folder = stack.use(await temporaryDirectory('connected'));
      stick = join(folder.path, 'stick');
      await mkdir(stick);
      site = stack.use(
        await startOnlineSite('connected', { base: factoryBase, stick, faketime, stateBytes: 8 << 20 }),
      );
      const { machineAddress: address } = site.cable;
      office = stack.use(
        await startOnlineOffice(join(folder.path, 'office'), { dockerRegistry, address, watches: true }),
      );
    });
    afterEach(async () => {
      office.registry.fault = undefined;
      office.hubLine.loseAnswersAfter = undefined;
      office.hubIsWell(true);
      await office.startRegistry();
      await site.cable.reconnect();
      await site.shell(`rm -f ${STATE}/filler`);
    });
    afterAll(() => stack.disposeAsync());

    /** Until it holds; else fails with what the office, the agent and its journal say. */
    const until = async (
      what: string,
      holds: () => boolean | Promise<boolean>,
      ms = 180_000,
    ): Promise<void> => {
      const limit = Date.now() + ms;
      while (!(await holds())) {
        if (Date.now() > limit) {
          const { stdout: status } = await site.agent('status');
          const { stdout: journal } = await site.shell('journalctl -u fleet-agent -n 15 --no-pager -o cat');
          throw new Error(`never: ${what}\n${status}\n${journal}\n${office.hub.log().slice(-2000)}`);
        }
        await sleep(200);
      }
    };
    /** Another label, which the office releases automatically. @returns whether the host has it */
    const change = async (): Promise<() => Promise<boolean>> => {
      const text = `^FDEdition ${++label}^FS`;
      await office.edit('apps/label-printer/host/label.zpl', (before) =>
        before.replace(/\^XZ|\^FDEdition.*\n\^XZ/, `${text}\n^XZ`),
      );
      return async () => (await site.read(LABEL)).includes(text);
    };
    /** The registry has what was changed last: its pointer is another than before. */
    const released = async (make: () => Promise<unknown>): Promise<void> => {
      const count = (): number =>
        office.hub.log().split('"repository":"prod/factory-host","tag":"release"').length;
      const before = count();
      await make();
      await until('the office has published', () => count() > before, 30_000);
    };
    /** An edit of a file while its package is being checked would make the check fail. */
    const settled = (): Promise<void> =>
      until('nothing is under way', async () => {
        const { unfinished, wanting } = await site.peek();
        return unfinished === null && wanting === 0;
      });
    /** Nothing is under way, and the hub has heard of everything, once. */
    const calm = async (): Promise<void> => {
      await until('all is done and told', async () => {
        const { events, unfinished, wanting } = await site.peek();
        return events === 0 && unfinished === null && wanting === 0;
      });
      expect(faultsAtHub(office.folder, AGENT)).toEqual([]);
      expect(toldTwice(eventsAtHub(office.folder, AGENT))).toEqual([]);
    };
    /** What stands in `fleet-agent status`. */
    const lineOf = async (name: 'Registry' | 'Hub'): Promise<string> => {
      const { stdout } = await site.agent('status');
      return stdout.split('\n').find((line) => line.startsWith(name)) ?? '';
    };
    const failing = (name: 'registry' | 'hub') => async () => (await site.peek())[name].failing !== null;
    const isWell = (name: 'registry' | 'hub') => async () => (await site.peek())[name].failing === null;

    it('waits as a service for its enrolment, enrols by a token, and applies a release', async () => {
      const configuration = {
        registry: office.registryAddress,
        hub: office.hubAddress,
        plainHttp: [office.registry.host],
        poll: '1s',
        interval: '3s',
      };
      succeed(await site.shell('cat > /etc/fleet-agent/agent.yaml', JSON.stringify(configuration)));
      succeed(await site.shell('systemctl enable --now fleet-agent'));
      succeed(await site.shell('cat > /root/token', `${await office.token(SITE)}\n`));
      const words = `--site ${SITE} --name press-2 --channel prod/factory-host --token-file /root/token`;
      succeed(await site.startAgent('enroll', ...words.split(' '), '--root-sha256', office.rootSha256));
      const other = `--state /root/other ${words.replace('press-2', 'press-3')}`.split(' ');
      const again = await site.startAgent('enroll', ...other, '--root-sha256', office.rootSha256);
      expect(again).toMatchObject({ code: 4, stderr: expect.stringContaining('TOKEN_INVALID') });
      succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
      const isActive = async (): Promise<boolean> =>
        (await site.shell('systemctl is-active scale-reader label-printer')).stdout === 'active\nactive\n';
      await until('both units run', isActive);
      const arrived = await change();
      await until('the next release runs', arrived);
      await calm();
      const { rows } = (await office.status()) as { readonly rows: readonly Row[] };
      expect(rows.map(({ assignment, verdict }) => `${assignment} ${verdict}`)).toEqual([
        'label-printer-host complies',
        'scale-reader-host complies',
      ]);
    });

    it('works without registry and hub, logs one line for each, and delivers everything once when they are back', async () => {
      const since = (await site.shell("date +'%F %T.%N'")).stdout.trim();
      office.hubIsWell(false);
      await office.stopRegistry();
      succeed(await site.shell(`echo helped > ${LABEL}; systemctl stop scale-reader`));
      await until('it is corrected', async () => (await site.read(LABEL)).includes('Edition'));
      await until('the hub was asked', () => office.faultyHub.asked.length > 2);
      await until('the registry is said to fail', failing('registry'));
      expect(await lineOf('Registry')).toMatch(/failing since \S+Z: REGISTRY_UNREACHABLE: .*; next at \S+Z$/);
      expect(await lineOf('Hub')).toMatch(
        /, \d+ events waiting, failing since \S+Z: HUB_UNREACHABLE: .*500.*; next at \S+Z$/,
      );
      const { stdout } = await site.shell(`journalctl -u fleet-agent -o cat --no-pager --since='${since}'`);
      const failures = stdout.split('\n').filter((line) => /"msg":"(hub|registry) failed"/.test(line));
      const causes = failures.map((line) => {
        const { msg, code } = JSON.parse(line) as { readonly msg: string; readonly code: string };
        return `${msg}: ${code}`;
      });
      // Once for each cause, however often they were asked meanwhile.
      expect(causes).toEqual([...new Set(causes)]);
      expect(causes).toEqual(
        expect.arrayContaining(['hub failed: HUB_UNREACHABLE', 'registry failed: REGISTRY_UNREACHABLE']),
      );
      await office.startRegistry();
      office.hubIsWell(true);
      await calm();
      expect(eventsAtHub(office.folder, AGENT).map(({ type }) => type)).toContain('corrected');
      expect((await site.shell('systemctl is-active scale-reader')).stdout).toBe('active\n');
    });

    it('sends again what the hub received without an answer, and the hub stores it once', async () => {
      office.hubLine.loseAnswersAfter = 3000;
      office.hubLine.set('whole');
      succeed(await site.shell(`echo helped > ${LABEL}`));
      await until('the hub took what the agent does not know of', async () => {
        const { from } = await site.peek();
        return office.hubLine.lost > 0 && from !== null && eventsAtHub(office.folder, AGENT).length >= from;
      });
      office.hubLine.loseAnswersAfter = undefined;
      await calm();
    });

    it('receives a release and delivers its report by a medium while it is cut off, and agrees with the hub later', async () => {
      await site.cable.cutOff();
      let arrived = async (): Promise<boolean> => false;
      await released(async () => {
        arrived = await change();
      });
      await office.fill(stick, SITE);
      succeed(await site.agent('import', '/media/stick'));
      expect(await arrived()).toBe(true);
      await until('it says that it is cut off', failing('registry'));
      succeed(await site.agent('reports', 'export', '/media/stick'));
      succeed(await office.scheduler('reports', 'import', stick));
      const carried = eventsAtHub(office.folder, AGENT);
      expect(carried.at(-1)?.seq).toBeGreaterThanOrEqual((await site.peek()).from ?? 0);
      await site.cable.reconnect();
      await until('the registry is asked', isWell('registry'));
      await calm();
      const applied = eventsAtHub(office.folder, AGENT).filter(
        ({ type, release }) =>
          type === 'package' && release?.version === carried.findLast((it) => it.release)?.release?.version,
      );
      expect(new Set(applied.map(({ assignment }) => assignment)).size).toBe(applied.length);
      const next = await change();
      await until('the next release comes by network', next);
    });

    it('is stopped in the middle of a package, and continues from there', async () => {
      const arrived = await change();
      await until('the file is there', arrived);
      succeed(await site.shell('systemctl stop fleet-agent'));
      const shown = await site.shell('systemctl show -P Result -P ExecMainStatus fleet-agent');
      expect(shown.stdout).toBe('success\n0\n');
      expect((await site.peek()).unfinished).toMatch(/^apply label-printer-host, (apply|settle)$/);
      succeed(await site.shell('systemctl start fleet-agent'));
      await until('it is done', async () => (await site.peek()).unfinished === null);
      await calm();
    });

    it('keeps its packages on a full disk, shows the reason, and continues when there is room', async () => {
      await site.shell(`dd if=/dev/zero of=${STATE}/filler bs=4k 2> /dev/null`);
      const arrived = await change();
      await until('it says so', async () => (await site.agent('status')).stdout.includes('DISK_FULL'));
      expect(await arrived()).toBe(false);
      expect((await site.shell('systemctl is-active fleet-agent label-printer')).stdout).toBe(
        'active\nactive\n',
      );
      succeed(await site.shell(`rm ${STATE}/filler`));
      await until('the release runs', arrived);
      await calm();
    });

    it.each([
      ['eight years slow', '-8y', true],
      ['eight years fast', '+8y', false],
    ])(
      'keeps its packages with a clock that is %s, and continues when the clock is set',
      async (_, offset, takesUp) => {
        const set = (lines: string) =>
          site.shell('cat > /etc/default/fleet-agent; systemctl restart fleet-agent', lines);
        succeed(
          await set(`LD_PRELOAD=/opt/faketime.so\nFAKETIME=${offset}\nFAKETIME_DONT_FAKE_MONOTONIC=1\n`),
        );
        const arrived = await change();
        if (takesUp) await until('a release is taken up', arrived);
        else await until('it says why not', async () => (await lineOf('Registry')).includes('EXPIRED'));
        await settled();
        succeed(await site.shell(`echo helped > ${LABEL}`));
        await until('drift is corrected', async () => (await site.read(LABEL)).includes('Edition'));
        await until('the hub is not believed', failing('hub'));
        succeed(await set(''));
        await until('the newest release runs', arrived);
        await calm();
      },
    );

    const blobs = /^GET \/v2\/fleet\/prod\/factory-host\/blobs\//;
    const wrong: readonly (readonly [string, RegExp, RegistryFault, RegExp])[] = [
      ['gives other bytes than it was asked for', blobs, { kind: 'flip' }, /DIGEST_MISMATCH/],
      ['has lost a blob', blobs, { kind: 'answer', status: 404 }, /MISSING_BLOB/],
      ['lies about digests', /^(HEAD|GET) .*manifests/, { kind: 'lie' }, /REGISTRY_|DIGEST_/],
      [
        'asks for patience',
        /./,
        { kind: 'answer', status: 429, headers: { 'retry-after': '1' } },
        /REGISTRY_UNREACHABLE.*429/,
      ],
      ['cuts every connection', /^GET/, { kind: 'cut', bytes: 100 }, /REGISTRY_UNREACHABLE/],
    ];
    it.each(wrong.filter((_, index) => isTried(index, wrong.length)))(
      'accepts nothing from a registry that %s, reports it, and accepts everything later',
      async (_, on, fault, said) => {
        const spoilt = new Set<string>();
        office.registry.fault = (line) => {
          const digest = /sha256:.*$/.exec(line)?.[0] ?? line;
          if (on.test(line)) spoilt.add(digest);
          // A blob that is lost is not a manifest either.
          return spoilt.has(digest) ? fault : undefined;
        };
        const arrived = await change();
        await until('it fails', failing('registry'));
        expect(await lineOf('Registry')).toMatch(said);
        expect(await arrived()).toBe(false);
        office.registry.fault = undefined;
        await until('the release runs', arrived);
        await until('it says that all is well', isWell('registry'));
        await calm();
      },
    );
  },
);
