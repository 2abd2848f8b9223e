import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acceptRequests } from '../harness/fleets/accept-requests.ts';
import { tamper } from '../../examples/tamper.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { LONG } from '../harness/run/long.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { openOffice } from './office.ts';
import { startSite } from './site.ts';
import { succeed } from '../harness/run/run-command.ts';

const SITE = 'plant-7';
const CHANNEL = 'prod/factory-host';

type Row = {
  readonly site: string;
  readonly agent: string;
  readonly assignment: string;
  readonly verdict: string;
};

describeWith(['factoryBase'], 'a factory host that only ever sees a stick', ({ factoryBase }) => {
  test('enrols, runs a release, repairs itself, rolls one package back, and its history comes home', async () => {
    await using folder = await temporaryDirectory('office');
    await using media = await temporaryDirectory('media');
    const stick = join(media.path, 'stick');
    await mkdir(stick);
    const office = await openOffice(folder.path);
    await office.build();
    await using site = await startSite('plant-seven', factoryBase, stick);

    // There is no way in or out but the stick.
    expect((await site.shell('ip -o link | grep -vc " lo:"')).stdout.trim()).toBe('0');
    succeed(await site.enroll(office.rootSha256, SITE, 'press-2', CHANNEL));
    succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
    succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
    await office.fill(stick, SITE);
    succeed(await site.agent('import', '/media/stick'));

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
    await office.edit('apps/label-printer/host/print-loop', () => '#!/bin/sh\nexit 1\n');
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

  test('refuses a tampered, an old and a foreign stick by name, and stays as it is', async () => {
    await using folder = await temporaryDirectory('office');
    await using media = await temporaryDirectory('media');
    const [stick, old, foreign] = ['stick', 'old', 'foreign'].map((name) => join(media.path, name)) as [
      string,
      string,
      string,
    ];
    await mkdir(stick);
    const office = await openOffice(folder.path);
    await office.build();
    await using site = await startSite('plant-eight', factoryBase, media.path);
    const at = (path: string): string => path.replace(media.path, '/media/stick');
    succeed(await site.enroll(office.rootSha256, SITE, 'press-2', CHANNEL, at(stick)));
    succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
    succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
    await office.fill(stick, SITE);
    await office.fill(old, SITE);
    succeed(await site.agent('import', at(stick)));
    await office.edit('apps/label-printer/host/label.zpl', (text) => `${text}\n`);
    await office.build();
    await office.fill(stick, SITE);

    await tamper(stick);
    const tampered = await site.agent('import', at(stick));
    expect([tampered.code, tampered.stderr]).toEqual([4, expect.stringContaining('DIGEST_MISMATCH')]);
    expect(await site.read('/etc/label-printer/label.zpl')).not.toMatch(/\n\n$/);

    await office.fill(stick, SITE);
    succeed(await site.agent('import', at(stick)));
    const replay = await site.agent('import', at(old));
    expect([replay.code, replay.stderr]).toEqual([4, expect.stringContaining('ROLLBACK')]);

    await mkdir(foreign);
    await using neighbour = await startSite('plant-nine', factoryBase, foreign);
    succeed(await neighbour.enroll(office.rootSha256, 'plant-9', 'press-1', CHANNEL));
    succeed(await office.scheduler('sites', 'enroll', foreign, ...(await acceptRequests(foreign))));
    succeed(await office.scheduler('sites', 'set', 'plant-9', 'lineNumber=1'));
    await office.fill(foreign, 'plant-9');
    const wrong = await site.agent('import', at(foreign));
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('WRONG_SITE')]);
    expect(wrong.stderr).toContain('plant-9');
    succeed(await site.agent('diff'));
  });

  test('two agents of different cluster types at one site share one stick', async () => {
    await using folder = await temporaryDirectory('office');
    await using media = await temporaryDirectory('media');
    const stick = join(media.path, 'stick');
    await mkdir(stick);
    const office = await openOffice(folder.path);
    await office.build();
    await using press = await startSite('press', factoryBase, stick);
    await using shop = await startSite('shop', factoryBase, stick);
    succeed(await press.enroll(office.rootSha256, SITE, 'press-2', CHANNEL));
    succeed(await shop.enroll(office.rootSha256, SITE, 'screen-1', 'prod/kiosk'));
    succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
    succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=3'));
    await office.fill(stick, SITE);
    succeed(await press.agent('import', '/media/stick'));
    succeed(await shop.agent('import', '/media/stick'));
    expect((await press.shell('systemctl is-active scale-reader')).stdout.trim()).toBe('active');
    expect((await shop.shell('systemctl is-active info-screen')).stdout.trim()).toBe('active');
    expect((await shop.shell('systemctl is-active scale-reader')).stdout.trim()).toBe('inactive');
    for (const site of [press, shop]) succeed(await site.agent('reports', 'export', '/media/stick'));
    succeed(await office.scheduler('reports', 'import', stick));
    const states = statesOf(await office.status());
    expect([...states]).toEqual([
      ['plant-7/press-2 label-printer-host', 'complies'],
      ['plant-7/press-2 scale-reader-host', 'complies'],
      ['plant-7/screen-1 info-screen-kiosk', 'complies'],
    ]);
  });

  test('the power is cut again and again during an import; in the end everything runs and each event is home once', async () => {
    await using folder = await temporaryDirectory('office');
    await using media = await temporaryDirectory('media');
    const stick = join(media.path, 'stick');
    await mkdir(stick);
    const office = await openOffice(folder.path);
    await office.build();
    await using site = await startSite('power', factoryBase, stick);
    succeed(await site.enroll(office.rootSha256, SITE, 'press-2', CHANNEL));
    succeed(await office.scheduler('sites', 'enroll', stick, ...(await acceptRequests(stick))));
    succeed(await office.scheduler('sites', 'set', SITE, 'lineNumber=7'));
    await office.fill(stick, SITE);
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
    const taken = succeed(await office.scheduler('reports', 'import', stick, '--json'));
    expect(taken.stdout).not.toMatch(/"alarm":\s*"/);
    expect(new Set(statesOf(await office.status()).values())).toEqual(new Set(['complies']));
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
