import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeImages } from '../../examples/make-images.ts';
import { type Outcome, succeed } from '../harness/run/run-command.ts';
import { runExporter } from '../harness/run/run-exporter.ts';
import { runScheduler } from '../harness/run/run-scheduler.ts';
import { withoutChain } from '../harness/fleets/without-chain.ts';

/** The platform team's side of an e2e test: the example company without its chain in a folder, driven by the real command lines. */
export type Office = {
  readonly folder: string;
  readonly rootSha256: string;
  readonly scheduler: (...words: readonly string[]) => Promise<Outcome>;
  readonly exporter: (...words: readonly string[]) => Promise<Outcome>;
  /** Builds prod, whose channels the sites follow. */
  readonly build: (...words: readonly string[]) => Promise<Outcome>;
  readonly edit: (file: string, change: (text: string) => string) => Promise<void>;
  /** Fills a medium for a site. */
  readonly fill: (medium: string, site: string, ...words: readonly string[]) => Promise<Outcome>;
  readonly status: () => Promise<unknown>;
};

const REPOSITORY = join(import.meta.dirname, '..', '..');

/** Enrols an agent as soon as the hub has built the first release of its channel, which the hub refuses before. */
export const enrolOnceReleased = async (enrol: () => Promise<Outcome>): Promise<void> => {
  const limit = Date.now() + 180_000;
  let outcome = await enrol();
  while (outcome.stderr.includes('CHANNEL_MISSING') && Date.now() < limit) outcome = await enrol();
  succeed(outcome);
};

/** @param database the hub's; by default a SQLite file */
export const openOffice = async (folder: string, database?: string): Promise<Office> => {
  for (const part of ['platform', 'apps'])
    await cp(join(REPOSITORY, 'examples', part), join(folder, part), { recursive: true });
  await withoutChain(join(folder, 'platform'));
  await makeImages(join(folder, 'images'));
  await mkdir(join(folder, 'hub'));
  const [keys, layout] = [join(folder, 'keys'), join(folder, 'releases')];
  const db = database ?? join(folder, 'hub', 'hub.db');
  const scheduler = (...words: readonly string[]): Promise<Outcome> => runScheduler(folder, words);
  const exporter = (...words: readonly string[]): Promise<Outcome> => runExporter(folder, words);
  await writeFile(
    join(folder, 'fleet-scheduler.yaml'),
    `platform: platform\nkeys: ${keys}\nlayout: ${layout}\ndb: ${db}\ncache: ${join(folder, 'cache')}\n`,
  );
  succeed(await scheduler('root', 'init', '--dev', '--fleet', 'halden'));
  const root = await readFile(join(keys, '1.root.json'));
  return {
    folder,
    rootSha256: createHash('sha256').update(root).digest('hex'),
    scheduler,
    exporter,
    build: async (...words) =>
      succeed(await scheduler('build', '--images', 'images', '--environment', 'prod', ...words)),
    edit: async (file, change) => {
      const path = join(folder, file);
      await writeFile(path, change(await readFile(path, 'utf8')));
    },
    fill: async (medium, site, ...words) =>
      succeed(await exporter('create', '--from', layout, '--site', site, '--to', medium, ...words)),
    status: async () => JSON.parse(succeed(await scheduler('status', '--json')).stdout),
  };
};
