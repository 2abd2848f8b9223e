import { readFile, writeFile } from 'node:fs/promises';
import { styleText } from 'node:util';
import { defined } from '#bundles/defined';
import { startRegistry } from '../../test/harness/neighbours/registry.ts';
import { serveProgram } from '../../test/harness/run/serve-program.ts';
import { EXAMPLE_IMAGES } from '../make-images.ts';
import { makeRunningImage } from '../make-running-image.ts';
import { PROGRAMS } from '../built-programs.ts';
import type { Ran, Story } from '../story.ts';
import type { Line } from './plant.ts';

/** The platform team's side: the company's folder, a registry and a hub. */
export type Office = {
  readonly scheduler: (...words: readonly string[]) => Promise<Ran>;
  /** As agents and exporters write it: oci://host:port/prefix. */
  readonly registryAt: (host: string) => string;
  readonly writeConfiguration: () => Promise<void>;
  readonly makeImages: () => Promise<void>;
  /** Another version of an application; the story shows the lines of `manifest`. */
  readonly changeImage: (change: ImageChange) => Promise<void>;
  /** Releases an object that exceeds a namespace's quota; the failure shows without pods. */
  readonly askForTooMuch: (of: Pick<ImageChange, 'app' | 'folder'>) => Promise<void>;
  readonly startRegistry: (program: string) => Promise<AsyncDisposable>;
  readonly startHub: () => Promise<AsyncDisposable>;
};

export type ImageChange = {
  readonly app: string;
  /** Folder of its manifests. */
  readonly folder: string;
  readonly version: string;
  /** Command of the container, if it is not the web server. */
  readonly command?: readonly string[];
};

export type OfficeOptions = { readonly busybox: string; readonly registry: Line; readonly hub: Line };

const PREFIX = 'halden';

export const openOffice = (
  { at, shown, say, run }: Story,
  { busybox, registry, hub }: OfficeOptions,
): Office => {
  const registryAt = (host: string): string => `oci://${host}/${PREFIX}`;
  const createImage = (name: string, command?: readonly string[]): Promise<void> =>
    makeRunningImage(
      busybox,
      at('images'),
      defined({
        name,
        page: `This is ${name.slice(name.lastIndexOf('/') + 1)}.\n`,
        command,
      }),
    );
  const edit = async (
    { app, folder }: Pick<ImageChange, 'app' | 'folder'>,
    from: RegExp,
    to: string,
  ): Promise<string> => {
    const file = at('company', 'apps', app, folder, 'deployment.yaml');
    await writeFile(file, (await readFile(file, 'utf8')).replace(from, to));
    return shown(file);
  };
  return {
    registryAt,
    scheduler: (...words) => run('fleet-scheduler', words),
    writeConfiguration: async () => {
      const common = [
        'keys: keys',
        'layout: releases',
        'db: hub.db',
        `registry: ${registryAt(registry.listen)}`,
        `plainHttp: [${registry.listen}]`,
      ];
      const team = ['platform: company/platform', 'environments: [dev]', 'images: images'];
      const serve = [
        `listen: ${hub.listen}`,
        `hostnames: [${hub.known.slice(0, hub.known.lastIndexOf(':'))}]`,
      ];
      await writeFile(at('fleet-scheduler.yaml'), `${[...team, ...common].join('\n')}\n`);
      await writeFile(at('hub.yaml'), `${[...common, ...serve].join('\n')}\n`);
    },
    makeImages: async () => {
      for (const name of EXAMPLE_IMAGES) await createImage(name);
    },
    changeImage: async ({ app, folder, version, command }) => {
      await createImage(`registry.halden.example/${app}:${version}`, command);
      const file = await edit({ app, folder }, /(image: .*):[\d.]+$/m, `$1:${version}`);
      say(`The team makes ${app} ${version}: an image, and one line of ${file}`);
    },
    askForTooMuch: async (of) => {
      say(`The team asks for four CPUs in ${await edit(of, /cpu: .*$/m, 'cpu: "4"')}; the quota is one`);
    },
    startRegistry: async (program) => {
      const [address = '', port] = registry.listen.split(':');
      say(styleText('dim', `$ docker-registry serve registry.yml &     # on ${registry.listen}`));
      return await startRegistry(program, { address, port: Number(port) });
    },
    startHub: async () => {
      const log = at('hub.log');
      say(styleText('dim', `$ fleet-scheduler serve --config ${shown(at('hub.yaml'))} > ${shown(log)} &`));
      const words = [process.execPath, PROGRAMS['fleet-scheduler'], 'serve', '--config', at('hub.yaml')];
      const logged = ['sh', '-c', 'log=$1; shift; exec "$@" > "$log"', 'sh', log, ...words];
      return await serveProgram(logged, hub.listen);
    },
  };
};
