import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { tamper } from '../../examples/tamper.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { LONG } from '../harness/run/long.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { type Office, openOffice } from './office.ts';
import { type SiteHost, startSite } from './site.ts';
import { runAgent } from '../harness/run/run-agent.ts';
import { runOrFail, succeed } from '../harness/run/run-command.ts';

const SITE = 'plant-7';
const CHANNEL = 'prod/factory-host';

type Row = {
  readonly site: string;
  readonly agent: string;
  readonly assignment: string;
  readonly verdict: string;
};

describeWith(['factoryBase'], 'factory hosts without a network', ({ factoryBase }) => {
  const stack = new AsyncDisposableStack();
  let office: Office;
  let site: SiteHost;
  let media = '';
  let stick = '';
  /** The printer's program as it works. */
  let printLoop = '';

  beforeAll(async () => {
    const folder = stack.use(await temporaryDirectory('office'));
    media = stack.use(await temporaryDirectory('media')).path;
    stick = join(media, 'stick');
    await mkdir(stick);
    [office, site] = await Promise.all([
      openBuilt(folder.path),
      startSite('plant-seven', factoryBase, stick),
    ]);
    stack.use(site);
  });
  afterAll(() => stack.disposeAsync());
  const openBuilt = async (folder: string): Promise<Office> => {
    const opened = await openOffice(folder);
    await opened.build();
    return opened;
  };
  const takeRequests = async (medium: string, name: string): Promise<void> => {
    succeed(await office.scheduler('sites', 'enroll', medium, ...(await acceptRequests(medium))));
    succeed(await office.scheduler('sites', 'set', name, 'lineNumber=7'));
  };

  test('two agents of different cluster types at one site share one medium', async () => {
    await using shop = await startSite('shop', factoryBase, stick);
    // There is no way in or out but the stick.
    expect((await site.shell('ip -o link | grep -vc " lo:"')).stdout.trim()).toBe('0');
    succeed(await site.enroll(office.rootSha256, SITE, 'press-2', CHANNEL));
    succeed(await shop.enroll(office.rootSha256, SITE, 'screen-1', 'prod/kiosk'));
    await takeRequests(stick, SITE);
    await office.fill(stick, SITE);
    succeed(await site.agent('import', '/media/stick'));
    succeed(await shop.agent('import', '/media/stick'));
    expect((await shop.shell('systemctl is-active info-screen scale-reader')).stdout).toBe(
      'active\ninactive\n',
    );
    for (const one of [site, shop]) succeed(await one.agent('reports', 'export', '/media/stick'));
    succeed(await office.scheduler('reports', 'import', stick));
    expect([...statesOf(await office.status())]).toEqual([
      ['plant-7/press-2 label-printer-host', 'complies'],
      ['plant-7/press-2 scale-reader-host', 'complies'],
      ['plant-7/screen-1 info-screen-kiosk', 'complies'],
    ]);
  });

  test('an agent applies the release, corrects drift, rolls one package back, and its history reaches the office', async () => {
    // Real units run, in their slice, with the value that only the site knows in its one field.
    expect((await site.shell('systemctl is-active scale-reader label-printer')).stdout).toBe(
      'active\nactive\n',
    );
    expect((await site.shell('systemctl show -P Slice scale-reader')).stdout.trim()).toBe(
      'scale-reader-host.slice',
    );
    expect(JSON.parse(await site.read('/etc/scale-reader/scale.json'))).toMatchObject({
      line: 7,
      unit: 'kg',
    });
    const answer = succeed(
      await site.shell(
        `python3 -c 'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:9101").read().decode())'`,
      ),
    );
    expect(JSON.parse(answer.stdout)).toMatchObject({ line: 7 });
    expect((await site.shell('stat -c %a:%U /etc/scale-reader/scale.json')).stdout.trim()).toBe('640:root');

    // Somebody helps.
    succeed(
      await site.shell(
        'systemctl stop label-printer; echo x > /etc/label-printer/label.zpl; rm /opt/scale-reader/serve.py',
      ),
    );
    expect((await site.agent('diff')).code).toBe(8);
    succeed(await site.agent('run', '--once'));
    succeed(await site.agent('diff'));
    expect((await site.shell('systemctl is-active label-printer')).stdout.trim()).toBe('active');
    expect(await site.read('/etc/label-printer/label.zpl')).toContain('Halden Foods');

    // Release 2: the printer's program does not start; the scale reader's change is good.
    await office.edit('apps/label-printer/host/print-loop', (text) => {
      printLoop = text;
      return '#!/bin/sh\nexit 1\n';
    });
    await office.edit('apps/scale-reader/host/scale.json', (text) =>
      text.replace('"decimals": 3', '"decimals": 2'),
    );
    await office.build();
    succeed(await site.agent('reports', 'export', '/media/stick'));
    succeed(await office.scheduler('reports', 'import', stick));
    await office.fill(stick, SITE, '--for', stick);
    const second = await site.agent('import', '/media/stick');
    // Depending on who is faster, the start itself fails or the check that watches it.
    expect([second.code, second.stdout]).toEqual([
      7,
      expect.stringMatching(/label-printer-host +failed, rolled back +(UNIT|CHECK)_FAILED/),
    ]);
    expect(await site.read('/opt/label-printer/print-loop')).toContain('mkdir -p');
    expect((await site.shell('systemctl is-active scale-reader label-printer')).stdout).toBe(
      'active\nactive\n',
    );
    expect(JSON.parse(await site.read('/etc/scale-reader/scale.json'))).toMatchObject({ decimals: 2 });
    // The bad package is not tried again, and the agent keeps saying so.
    const again = await site.agent('run', '--once');
    expect([again.code, again.stdout]).toEqual([7, expect.stringContaining('is not tried again')]);
    expect((await site.shell('systemctl is-active label-printer')).stdout.trim()).toBe('active');

    // Home: what runs where, with the failure said.
    succeed(await site.agent('reports', 'export', '/media/stick'));
    succeed(await office.scheduler('reports', 'import', stick));
    const states = statesOf(await office.status());
    expect(states.get('plant-7/press-2 scale-reader-host')).toBe('complies');
    expect(states.get('plant-7/press-2 label-printer-host')).not.toBe('complies');

    // The receipt goes out with the next medium, and the outbox shrinks.
    const status = await site.agent('status', '--json');
    expect(status.code).toBe(7);
    const before = outboxOf(status.stdout);
    await office.fill(stick, SITE, '--for', stick);
    await site.agent('import', '/media/stick');
    expect(outboxOf((await site.agent('status', '--json')).stdout)).toBeLessThan(before);
  });

  test('an agent refuses a changed, an old and a foreign medium by their codes, and changes nothing', async () => {
    const [other, old, foreign] = ['other', 'old', 'foreign'].map((name) => join(media, name)) as [
      string,
      string,
      string,
    ];
    /** Lays the medium onto the stick, which a host has one folder for. */
    const importFrom = async (medium: string) => {
      await runOrFail(['sh', '-c', `rm -rf ${stick}/* && cp -r ${medium}/. ${stick}`]);
      return site.agent('import', '/media/stick');
    };
    // The printer works again.
    await office.edit('apps/label-printer/host/print-loop', () => printLoop);
    await office.build();
    await office.fill(old, SITE);
    succeed(await importFrom(old));
    await office.edit('apps/label-printer/host/label.zpl', (text) => `${text}\n`);
    await office.build();
    await office.fill(other, SITE);

    await tamper(other);
    const tampered = await importFrom(other);
    expect([tampered.code, tampered.stderr]).toEqual([4, expect.stringContaining('DIGEST_MISMATCH')]);
    expect(await site.read('/etc/label-printer/label.zpl')).not.toMatch(/\n\n$/);

    await office.fill(other, SITE);
    succeed(await importFrom(other));
    const replay = await importFrom(old);
    expect([replay.code, replay.stderr]).toEqual([4, expect.stringContaining('ROLLBACK')]);

    // A folder asks for the other site.
    await mkdir(foreign);
    await mkdir(join(media, 'root'));
    const env = {
      ...process.env,
      FLEET_AGENT_STATE: join(media, 'state'),
      FLEET_AGENT_ROOT: join(media, 'root'),
      FLEET_AGENT_SERVICES: 'none',
    };
    const who = `--fleet halden --site plant-9 --name press-1 --channel ${CHANNEL} --root-sha256`.split(' ');
    succeed(await runAgent(office.folder, ['enroll', foreign, ...who, office.rootSha256], env));
    await takeRequests(foreign, 'plant-9');
    await office.fill(foreign, 'plant-9');
    const wrong = await importFrom(foreign);
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('WRONG_SITE')]);
    expect(wrong.stderr).toContain('plant-9');
    succeed(await site.agent('diff'));
  });

  test('an import with several power cuts ends with all packages running and each event reported once', async () => {
    const own = join(media, 'power');
    await mkdir(own);
    await using site = await startSite('power', factoryBase, own);
    succeed(await site.enroll(office.rootSha256, 'plant-8', 'press-1', CHANNEL));
    await takeRequests(own, 'plant-8');
    await office.fill(own, 'plant-8');
    let cuts = 0;
    for (const milliseconds of LONG ? [250, 450, 650, 850, 1100, 1400] : [450, 1100]) {
      const importing = site.startAgent('import', '/media/stick');
      const ended = await Promise.race([importing.then(() => 'done'), sleep(milliseconds).then(() => 'cut')]);
      if (ended === 'done') break;
      await site.host.crash();
      await importing.catch(() => undefined);
      await site.host.start();
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(1);
    succeed(await site.agent('import', '/media/stick'));
    succeed(await site.agent('diff'));
    expect((await site.shell('systemctl is-active scale-reader label-printer')).stdout).toBe(
      'active\nactive\n',
    );
    expect(
      (await site.shell('find / -xdev -name ".fleet-*" -not -path "/proc/*" | wc -l')).stdout.trim(),
    ).toBe('0');
    succeed(await site.agent('reports', 'export', '/media/stick'));
    const taken = succeed(await office.scheduler('reports', 'import', own, '--json'));
    expect(taken.stdout).not.toMatch(/"alarm":\s*"/);
    const states = [...statesOf(await office.status())].filter(([of]) => of.startsWith('plant-8/'));
    expect(states.map(([, verdict]) => verdict)).toEqual(['complies', 'complies']);
  });
});

/** 'site/agent assignment' to the verdict of the table. */
const statesOf = (status: unknown): ReadonlyMap<string, string> => {
  const { rows } = status as { readonly rows: readonly Row[] };
  return new Map(
    rows.map(({ site, agent, assignment, verdict }) => [`${site}/${agent} ${assignment}`, verdict]),
  );
};

const outboxOf = (status: string): number => {
  const { outbox } = JSON.parse(status) as { readonly outbox: { readonly events: number } };
  return outbox.events;
};

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds));
