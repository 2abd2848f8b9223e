import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { runProcess } from '#bundles/run-process';
import { VERSION } from '#bundles/version';
import { artifactSbom } from '../artifact-sbom.ts';
import { SBOM } from '../sbom.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/** Folder of each built program, and the first file in it. npm keeps no links, so commands name the files themselves. */
const COMMANDS = {
  'fleet-agent': 'agent/fleet-agent.mjs',
  'fleet-export': 'exporter/fleet-export.mjs',
  'fleet-scheduler': 'scheduler/fleet-scheduler.mjs',
} as const;

export type NpmOptions = {
  /** The built programs: agent, exporter and scheduler, each a folder. */
  readonly programs: string;
  readonly out: string;
  /** Of the add-on in the programs; by default of this machine. */
  readonly platform?: string;
  readonly architecture?: string;
};

/**
 * Packs the built programs as an npm package for one platform, because the add-on of SQLite is for one. It has no dependencies and no
 * install scripts. @returns the path of the .tgz
 * @throws FleetError IO if a program was not built, or npm fails
 */
export const buildNpm = async ({
  programs,
  out,
  platform = process.platform,
  architecture = process.arch,
}: NpmOptions): Promise<string> => {
  const folder = join(out, 'package');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const path of Object.values(COMMANDS)) {
    const [program = ''] = path.split('/');
    await cp(join(programs, program), join(folder, program), {
      recursive: true,
      filter: (source) => !Object.keys(COMMANDS).some((name) => source.endsWith(`/${name}`)),
    }).catch((cause: unknown) => {
      throw new FleetError('IO', `${program} is not in ${programs}`, {
        cause,
        hint: 'Run npm run build and npm run bundle:agent first',
      });
    });
  }
  await cp(join(REPOSITORY, 'LICENSE'), join(folder, 'LICENSE'));
  await writeFile(join(folder, 'README.md'), README);
  const built = Object.values(COMMANDS).map((path) => join(folder, path, '..'));
  await writeFile(join(folder, SBOM), await artifactSbom('fleet-ferry', built));
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...(await described()), os: [platform], cpu: [architecture] }, null, 2)}\n`,
  );
  const packed = await runProcess(
    ['npm', 'pack', '--json', '--ignore-scripts', `--pack-destination=${out}`, folder],
    { env: { ...process.env, npm_config_loglevel: 'error' }, maxOutput: 16 << 20 },
  );
  if (packed.code !== 0)
    throw new FleetError('IO', `npm pack ended with ${packed.code}: ${packed.stderr.trim()}`);
  const [made] = JSON.parse(packed.stdout.toString()) as readonly { readonly filename: string }[];
  return join(out, made?.filename ?? '');
};

/** What the package says of itself; version and licence are those of the repository's package.json. */
const described = async (): Promise<object> => {
  const text = await readFile(join(REPOSITORY, 'package.json'), 'utf8');
  const { name, description, license } = JSON.parse(text) as Readonly<Record<string, string>>;
  return {
    name,
    version: VERSION,
    description,
    license,
    type: 'module',
    engines: { node: '>=24' },
    bin: COMMANDS,
    files: [...Object.values(COMMANDS).map((path) => path.split('/')[0]), 'LICENSE', 'README.md', SBOM],
  };
};

const README = `# Fleet Ferry

fleet-scheduler, fleet-export and fleet-agent, built: they need Node 24 or newer and nothing else.

    npm install --global fleet-ferry-${VERSION}.tgz
    fleet-export --version
`;
