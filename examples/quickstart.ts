/**
 * `npm run quickstart`: the whole story in one run, with the three programs as their users start them. A platform team builds
 * and signs two releases of the example company; a technician carries a stick; a factory host without network verifies,
 * applies, repairs, refuses and reports. No root needed; everything happens under .fleet/quickstart.
 */
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { findAirGap } from '../test/harness/air-gap.ts';
import { makeImages } from './make-images.ts';
import { Broken, createStory, type Ran, sha256Of, sizeOf, tell } from './story.ts';
import { tamper } from './tamper.ts';

const SITE = 'plant-7';
const AGENT = 'press-2';
const CHANNEL = 'prod/factory-host';

const { at, shown, title, say, run, begin } = createStory('quickstart');

const scheduler = (...words: readonly string[]): Promise<Ran> =>
  run('fleet-scheduler', [...words, '--config', at('fleet-scheduler.yaml')]);
const agent = (words: readonly string[], expected: number | readonly number[] = 0): Promise<Ran> => {
  const gap = findAirGap();
  return run(
    'fleet-agent',
    [...words, '--config', at('agent.yaml')],
    expected,
    gap.present ? gap.prefix : [],
  );
};

/** Each program's settings are one YAML file; every key is a flag and an environment variable too. */
const writeConfigurations = async (): Promise<void> => {
  await writeFile(
    at('fleet-scheduler.yaml'),
    'platform: company/platform\nkeys: keys\nlayout: releases\ndb: hub.db\n',
  );
  await writeFile(at('agent.yaml'), `state: ${at('host-state')}\nroot: ${at('host')}\nservices: none\n`);
};

/** What the technician reads out and the office compares. */
const fingerprintOf = ({ stdout }: Ran): string => {
  const [fingerprint] = /^ {2}[0-9a-f]{64}$/m.exec(stdout) ?? [];
  if (fingerprint === undefined) throw new Broken(`the agent printed no fingerprint: ${stdout}`);
  return fingerprint.trim();
};

const refusedWith = (ran: Ran, code: string): void => {
  if (!ran.stderr.includes(code))
    throw new Broken(`this should have been refused as ${code}, but: ${ran.stderr}`);
};

const build = (...words: readonly string[]): Promise<Ran> =>
  scheduler('build', '--images', at('images'), ...words);

const main = async (): Promise<void> => {
  const began = performance.now();
  title('A platform team: keys, images, a platform repository');
  say(
    'Halden Foods: three environments, five cluster types, six workloads. Have a look at examples/platform.',
  );
  await begin();
  await addFirmware();
  await writeConfigurations();
  await scheduler('root', 'init', '--dev', '--fleet', 'halden');
  await makeImages(at('images'));

  title('Release 1: every environment and cluster type, built and signed');
  await build();

  title('At the site: a host without network asks to be enrolled, by stick');
  const gap = findAirGap();
  say(gap.present ? `The agent runs in a network namespace with nothing in it (${gap.how}).` : gap.reason);
  const sha256 = await sha256Of(at('keys', '1.root.json'));
  await mkdir(at('host'));
  await mkdir(at('stick'));
  const asked = await agent([
    'enroll',
    at('stick'),
    '--fleet',
    'halden',
    '--site',
    SITE,
    '--name',
    AGENT,
    '--channel',
    CHANNEL,
    '--root-sha256',
    sha256,
  ]);

  title('At the office: the request is answered, the stick is filled');
  await scheduler('sites', 'enroll', at('stick'), '--accept', fingerprintOf(asked));
  await scheduler('sites', 'set', SITE, 'lineNumber=7');
  await run('fleet-export', ['create', '--from', at('releases'), '--site', SITE, '--to', at('stick')]);
  await run('fleet-export', ['verify', at('stick'), '--root-sha256', sha256]);
  await cp(at('stick'), at('stick-of-last-month'), { recursive: true });

  title('At the site: verified, applied, healthy');
  await agent(['import', at('stick')]);
  say(`The host now has: ${(await readdir(at('host', 'etc'))).join(', ')} under ${shown(at('host', 'etc'))}`);

  title('Somebody breaks something by hand; the agent finds and repairs it');
  await writeFile(at('host', 'etc', 'label-printer', 'label.zpl'), '^XA broken ^XZ\n');
  await rm(at('host', 'etc', 'scale-reader', 'scale.json'));
  await agent(['diff'], 8);
  await agent(['run', '--once']);
  await agent(['diff']);

  title('The stick goes home with the history');
  await agent(['reports', 'export', at('stick')]);
  await scheduler('reports', 'import', at('stick'));

  title('Release 2: one label changes, the stick carries only that');
  const label = at('company', 'apps', 'label-printer', 'host', 'label.zpl');
  await writeFile(
    label,
    (await readFile(label, 'utf8')).replace('^XZ', '^FO50,220^A0N,24,24^FDFarmed in Norway^FS\n^XZ'),
  );
  await build('--previous', at('releases'));
  const full = await sizeOf(at('stick', 'blobs'));
  await run('fleet-export', [
    'create',
    '--from',
    at('releases'),
    '--site',
    SITE,
    '--to',
    at('stick'),
    '--for',
    at('stick'),
  ]);
  const delta = await sizeOf(at('stick', 'blobs'));
  say(
    styleText(
      'bold',
      `The first stick carried ${full} bytes, this one ${delta}: the change, the release and its signatures.`,
    ),
  );
  await agent(['import', at('stick')]);

  title('A tampered stick, and last month’s stick, are refused by name');
  await cp(at('stick'), at('tampered-stick'), { recursive: true });
  const flipped = await tamper(at('tampered-stick'));
  say(`(one byte of ${flipped.slice(0, 12)} flipped on ${shown(at('tampered-stick'))})`);
  refusedWith(await agent(['import', at('tampered-stick')], [4, 5]), 'DIGEST_MISMATCH');
  refusedWith(await agent(['import', at('stick-of-last-month')], 4), 'ROLLBACK');

  title('The reports go home, and the office knows what runs where');
  await agent(['status']);
  await agent(['reports', 'export', at('stick')]);
  await scheduler('reports', 'import', at('stick'));
  await scheduler('status', '--environment', 'prod');

  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(`
${styleText('bold', 'Done')} in ${seconds} s. Where to look next:
   ${shown(at('host'))}            what the agent made of the host's /
   ${shown(at('stick'))}           the stick; try: npx fleet-export inspect ${shown(at('stick'))}
   ${shown(at('releases'))}        the OCI layout with all releases
   examples/platform                  the platform repository that all of this came from
   docs/air-gap.md                    the same walk, command by command; docs/concepts.md: the words
   The keys in ${shown(at('keys'))} are a DEV root: one person can sign everything. Never use them for a real site.
`);
};

/** The scale's maker ships 4 MiB of firmware with it: something for the first stick to carry and for the second to leave out. */
const addFirmware = async (): Promise<void> => {
  const host = at('company', 'apps', 'scale-reader', 'host');
  const blocks = Array.from({ length: 131_072 }, (_, index) =>
    createHash('sha256').update(`firmware ${index}`).digest(),
  );
  await writeFile(join(host, 'firmware.bin'), Buffer.concat(blocks));
  const spec = join(host, 'package.yaml');
  const entry = '  files:\n    - path: /opt/scale-reader/firmware.bin\n      source: firmware.bin\n';
  await writeFile(spec, (await readFile(spec, 'utf8')).replace('  files:\n', entry));
};

if (process.argv.includes('--kubernetes')) await import('./quickstart-kubernetes.ts');
else await tell(main);
