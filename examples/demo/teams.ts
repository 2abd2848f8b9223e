import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays, HOUR_MS } from '#bundles/time';
import { runGit } from '../../scheduler/load/sources/run-git.ts';
import { type Application, APPLICATIONS, deploymentOf, versionOf } from './company.ts';

type Author = { readonly name: string; readonly title: string };

/** Who made which version, and why. */
const AUTHORS: Readonly<Record<Application, readonly Author[]>> = {
  'label-printer': [
    { name: 'Tove Lind', title: 'Print the label of a pallet' },
    { name: 'Tove Lind', title: 'Print labels in three languages' },
    { name: 'Eli Berg', title: 'Print the date of baking on each label' },
  ],
  'oven-control': [
    { name: 'Per Moen', title: 'Stop an oven above its highest temperature' },
    { name: 'Per Moen', title: 'Name the oven in each message' },
    { name: 'Amina Saleh', title: 'Let ovens cool down between two shifts' },
  ],
  'scale-reader': [
    { name: 'Kari Dahl', title: 'Read scales over the serial line' },
    { name: 'Kari Dahl', title: 'Report a scale that is overloaded' },
    { name: 'Jonas Vik', title: 'Read scales of the new kind' },
  ],
};

/** The Git repository of a team. */
export const repositoryOf = (folder: string, name: Application): string =>
  join(folder, 'apps', `${name}.git`);

/** Commits a version of an application to its repository, and makes the repository with the first. @param now it was committed an hour before */
export const deliver = async (
  folder: string,
  name: Application,
  version: number,
  now: Date,
): Promise<void> => {
  const repository = repositoryOf(folder, name);
  const isFirst = !existsSync(repository);
  if (isFirst) await git(['init', '--quiet', '--bare', '--template=', '--initial-branch=main', repository]);
  const author = AUTHORS[name][version - 1];
  if (author === undefined) throw new Error(`${name} has no version ${version}`);
  const who = `${author.name} <${author.name.toLowerCase().replace(' ', '.')}@halden.example>`;
  const at = `${Math.floor((now.getTime() - HOUR_MS) / 1000)} +0000`;
  const made = versionOf(name, version);
  const files = isFirst ? { ...deploymentOf(name), ...made } : made;
  const lines = [
    'commit refs/heads/main',
    `author ${who} ${at}`,
    `committer ${who} ${at}`,
    data(author.title),
    ...(isFirst ? [] : ['from refs/heads/main^0']),
    ...Object.entries(files).map(([path, text]) => `M 100644 inline ${path}\n${data(text)}`),
    '',
  ];
  await git(['--git-dir', repository, 'fast-import', '--quiet'], lines.join('\n'));
};

/** The first version of each, made months before the hub began. */
export const deliverFirst = async (folder: string, now: Date): Promise<void> => {
  for (const name of APPLICATIONS) await deliver(folder, name, 1, addDays(now, -30));
};

export const urlOf = (folder: string, name: Application): string =>
  pathToFileURL(repositoryOf(folder, name)).href;

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}`;

const git = async (args: readonly string[], input = ''): Promise<void> => {
  const env = { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const { code, lastLine } = await runGit({ env, signal: undefined }, args, { input: [Buffer.from(input)] });
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${lastLine}`);
};
