/**
 * `npm run quickstart`: the whole story in one run, with the three programs as their users start them. A platform team builds
 * for dev; a test oven reports that the candidate works, and it is promoted to qa; a technician carries it on a stick to a
 * plant without network, which verifies, applies, repairs, refuses and reports. That opens the gate to prod, and the stick takes it to the
 * next plant. No root needed; everything happens under .fleet/quickstart.
 */
import { createCipheriv } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { findAirGap } from '../test/harness/fleets/air-gap.ts';
import { makeImages } from './make-images.ts';
import { Broken, createStory, type Ran, sha256Of, sizeOf, tell } from './story.ts';
import { tamper } from './tamper.ts';

const TRIAL = 'plant-6';
const SITE = 'plant-7';
/** How long qa has to comply in the quickstart; the example asks for a day. */
const SOAK = '1s';
const SOAK_MS = 1000;
const PROGRAMS = ['srv', 'oven-programs'] as const;

const { at, shown, title, say, run, begin, commit } = createStory('quickstart');

const scheduler = (words: readonly string[], expected?: number): Promise<Ran> =>
  run('fleet-scheduler', [...words, '--config', at('fleet-scheduler.yaml')], expected);
const fill = (site: string, medium: string, ...more: readonly string[]): Promise<Ran> =>
  run('fleet-export', ['create', '--from', at('releases'), '--site', site, '--to', at(medium), ...more]);
const build = (): Promise<Ran> => scheduler(['build', '--images', at('images')]);

type Place = 'bench' | 'trial' | 'plant';

/** @param place 'bench' at the office, or a plant, where there is no network */
const agent = (
  place: Place,
  words: readonly string[],
  expected: number | readonly number[] = 0,
): Promise<Ran> => {
  const gap = findAirGap();
  const prefix = place !== 'bench' && gap.present ? gap.prefix : [];
  return run('fleet-agent', [...words, '--config', at(place, 'agent.yaml')], expected, prefix);
};

const main = async (): Promise<void> => {
  const began = performance.now();
  title('A platform team: a repository, keys, images');
  say(
    'Halden Foods: three environments, six cluster types, seven workloads. Have a look at examples/platform.',
  );
  await begin();
  await addFirmware();
  await shortenSoak();
  await commit('company', 'The ovens get their programs');
  await writeConfigurations();
  await run('fleet-scheduler', ['keys', 'generate', '--plain', '--out', at('carla.key')]);
  await scheduler(['root', 'init', '--dev', '--fleet', 'halden', '--bundle', at('carla.pub')]);
  await makeImages(at('images'));
  const sha256 = await sha256Of(at('keys', '1.root.json'));

  title('Release 1: built and signed for dev; qa and prod wait for a promotion');
  await build();

  title('dev: a test oven on a bench asks to be enrolled, and the gate to qa names it');
  await enroll('bench', { site: 'office', name: 'bench', channel: 'dev/smoke-oven', sha256 });
  await scheduler(['promote', 'qa', '--explain']);

  title('It runs the release and reports: the gate opens, and somebody promotes');
  await fill('office', 'bench-medium');
  await agent('bench', ['import', at('bench-medium')]);
  await carryReports('bench');
  await scheduler(['promote', 'qa', '--person', 'ann', '--reason', 'works on the bench', '--build']);

  title('At a plant without network: an oven asks to be enrolled, by stick');
  const gap = findAirGap();
  say(gap.present ? `The agent runs in a network namespace with nothing in it (${gap.how}).` : gap.reason);
  await enroll('trial', { site: TRIAL, name: 'oven-1', channel: 'qa/smoke-oven', sha256 });

  title('At the office: the stick is filled with what the plant may have, and verified');
  await fill(TRIAL, 'stick');
  await run('fleet-export', ['verify', at('stick'), '--root-sha256', sha256]);
  await cp(at('stick'), at('stick-of-last-month'), { recursive: true });

  title('At the plant: verified, applied, healthy');
  await agent('trial', ['import', at('stick')]);
  say(`The oven has its programs: see ${shown(at('trial', 'root', ...PROGRAMS))}`);

  title('Somebody breaks something by hand; the agent finds and repairs it');
  await writeFile(at('trial', 'root', ...PROGRAMS, 'cold-smoke.json'), '{"celsius": 240}\n');
  await rm(at('trial', 'root', ...PROGRAMS, 'hot-smoke.json'));
  await agent('trial', ['diff'], 8);
  await agent('trial', ['run', '--once']);
  const soaked = sleep(SOAK_MS);

  title('The stick goes home: now the gate to prod has facts, and says what is still missing');
  await carryReports('trial');
  await scheduler(['promote', 'prod', '--explain']);
  say(
    `prod is stricter: ${SOAK} without a fault (in the example a day), and the agreement of a second person, with a key of her own.`,
  );

  title('A second person agrees, the next word of the oven is good, and prod is promoted');
  const carla = ['--key', at('carla.key'), '--person', 'carla', '--reason', 'the trial plant is content'];
  await scheduler(['approve', '--to', 'prod', ...carla]);
  await soaked;
  await carryReports('trial');
  await scheduler(['promote', 'prod', '--person', 'ben', '--reason', 'autumn programs', '--build']);

  title('prod: another stick takes it to the plant that gets new releases first');
  await enroll('plant', {
    site: SITE,
    name: 'oven-1',
    channel: 'prod/smoke-oven',
    sha256,
    label: 'ring=pilot',
  });
  await fill(SITE, 'stick-to-prod');
  await agent('plant', ['import', at('stick-to-prod')]);
  const [elsewhere, here] = [await ovenNumber('trial'), await ovenNumber('plant')];
  say(
    `One value differs here: the number of the oven is ${here}, and ${elsewhere} elsewhere. It is in no bundle.`,
  );
  say(`Each comes from a layer in ${shown(at('company', 'platform', 'base', 'configs', 'sites.yaml'))}.`);

  title('Release 2: a bad program for all, and a setting of qa alone');
  const program = at('company', 'apps', 'oven-programs', 'host', 'cold-smoke.json');
  await writeFile(program, (await readFile(program, 'utf8')).replace(/,\n.*"maxCelsius": 30/, ''));
  const layer = at('company', 'platform', 'environments', 'qa', 'environment.yaml');
  await writeFile(layer, (await readFile(layer, 'utf8')).replace('logLevel: info', 'logLevel: debug'));
  await commit('company', 'Cold smoke without a limit; more logs in qa');
  await build();
  say(
    'dev has the new program. qa has only its own setting, marked as a direct change: nothing else was promoted.',
  );

  title('dev: the bad program fails its check, the old one stays, and nobody can promote it');
  await fill('office', 'bench-medium');
  await agent('bench', ['import', at('bench-medium')], 7);
  await carryReports('bench');
  refusedWith(await scheduler(['promote', 'qa', '--person', 'ann'], 8), 'GATE_CLOSED');

  title('The next trip to the trial plant: the stick carries only what changed');
  const full = await sizeOf(at('stick', 'blobs'));
  await fill(TRIAL, 'stick', '--for', at('stick'));
  const delta = await sizeOf(at('stick', 'blobs'));
  const sizes = `The first stick carried ${full} bytes, this one ${delta}: the change, the release and its signatures.`;
  say(styleText('bold', sizes));
  await agent('trial', ['import', at('stick')]);

  title('A tampered stick, and last month’s stick, are refused by name');
  await cp(at('stick'), at('tampered-stick'), { recursive: true });
  const flipped = await tamper(at('tampered-stick'));
  say(`(one byte of ${flipped.slice(0, 12)} flipped on ${shown(at('tampered-stick'))})`);
  refusedWith(await agent('trial', ['import', at('tampered-stick')], [4, 5]), 'DIGEST_MISMATCH');
  refusedWith(await agent('trial', ['import', at('stick-of-last-month')], 4), 'ROLLBACK');

  title('The reports go home: what runs where, and who decided it');
  await agent('plant', ['status']);
  await carryReports('trial');
  await carryReports('plant');
  await scheduler(['status']);
  await scheduler(['audit', 'list']);

  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  process.stdout.write(`
${styleText('bold', 'Done')} in ${seconds} s. Where to look next:
   ${shown(at('plant', 'root'))}      what the agent made of the oven's /
   ${shown(at('stick'))}           the stick; try: npx fleet-export inspect ${shown(at('stick'))}
   ${shown(at('releases'))}        the OCI layout with all releases and the audit log
   examples/platform                  the platform repository that all of this came from
   docs/promotion-walk.md             the same, command by command; docs/air-gap.md: the stick; docs/concepts.md: the words
   The keys in ${shown(at('keys'))} are a DEV root: one person can sign everything. Never use them for a real site.
`);
};

/** Each program's settings are one YAML file; every key is a flag and an environment variable too. */
const writeConfigurations = async (): Promise<void> => {
  const platform = `file://${at('company')}#main:platform`;
  await writeFile(
    at('fleet-scheduler.yaml'),
    `platform: ${platform}\nkeys: keys\nlayout: releases\ndb: hub.db\ncache: cache\n`,
  );
  for (const [place, medium] of Object.entries(MEDIA)) {
    await mkdir(at(place, 'root'), { recursive: true });
    await mkdir(at(medium));
    const state = `state: ${at(place, 'state')}\nroot: ${at(place, 'root')}\nservices: none\n`;
    await writeFile(at(place, 'agent.yaml'), state);
  }
};

const MEDIA = { bench: 'bench-medium', trial: 'stick', plant: 'stick-to-prod' } as const;

type Request = {
  readonly site: string;
  readonly name: string;
  readonly channel: string;
  readonly sha256: string;
  readonly label?: string;
};

/** The request goes to the office and is answered there. */
const enroll = async (place: Place, { site, name, channel, sha256, label }: Request): Promise<void> => {
  const medium = at(MEDIA[place]);
  const words = ['--fleet', 'halden', '--site', site, '--name', name, '--channel', channel];
  if (label !== undefined) words.push('--label', label);
  const asked = await agent(place, ['enroll', medium, ...words, '--root-sha256', sha256]);
  await scheduler(['sites', 'enroll', medium, '--accept', fingerprintOf(asked)]);
};

const carryReports = async (place: Place): Promise<void> => {
  await agent(place, ['reports', 'export', at(MEDIA[place])]);
  await scheduler(['reports', 'import', at(MEDIA[place])]);
};

/** Reads the fingerprint of the request, which the technician reads out and the office compares. */
const fingerprintOf = ({ stdout }: Ran): string => {
  const [fingerprint] = /^ {2}[0-9a-f]{64}$/m.exec(stdout) ?? [];
  if (fingerprint === undefined) throw new Broken(`the agent printed no fingerprint: ${stdout}`);
  return fingerprint.trim();
};

const refusedWith = (ran: Ran, code: string): void => {
  if (!ran.stderr.includes(code))
    throw new Broken(`this should have been refused as ${code}, but: ${ran.stderr}`);
};

/** The oven's maker ships 4 MiB of firmware with it: something for the first stick to carry and for the second to leave out. */
const addFirmware = async (): Promise<void> => {
  const host = at('company', 'apps', 'oven-programs', 'host');
  // The key stream of a cipher: bytes that do not compress, the same ones every time.
  const firmware = createCipheriv('aes-256-ctr', Buffer.alloc(32), Buffer.alloc(16));
  await writeFile(join(host, 'firmware.bin'), firmware.update(Buffer.alloc(4 << 20)));
  const spec = join(host, 'package.yaml');
  const entry = '  files:\n    - path: /opt/oven-programs/firmware.bin\n      source: firmware.bin\n';
  await writeFile(spec, (await readFile(spec, 'utf8')).replace('  files:\n', entry));
};

const ovenNumber = async (place: Place): Promise<string> => {
  const file = at(place, 'root', 'etc', 'oven-programs', 'oven.json');
  return String((JSON.parse(await readFile(file, 'utf8')) as { readonly oven: number }).oven);
};

const shortenSoak = async (): Promise<void> => {
  const policy = at('company', 'platform', 'promotion', 'qa-to-prod.yaml');
  await writeFile(policy, (await readFile(policy, 'utf8')).replace('soak: 24h', `soak: ${SOAK}`));
};

if (process.argv.includes('--kubernetes')) await import('./quickstart-kubernetes.ts');
else await tell(main);
