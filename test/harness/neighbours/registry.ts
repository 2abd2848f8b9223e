import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { runOrFail } from '../run/run-command.ts';
import { serveProgram } from '../run/serve-program.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

export type Registry = AsyncDisposable & {
  /** '127.0.0.1:PORT', as it stands in a reference. Plain HTTP, unless it was given a certificate. */
  readonly host: string;
  readonly url: string;
  /** Its storage, laid out as docker-registry does; gone when it is disposed of, if it was not given. */
  readonly storage: string;
  /** Its configuration file, as collectGarbage needs it. */
  readonly configuration: string;
};

export type RegistrySettings = {
  /** One that ran before, to go on with. */
  readonly storage?: string;
  /** By default the loopback's; that of a cable (FactoryHost) for a host to reach it. */
  readonly address?: string;
  /** By default a free one. A registry that comes back has the same. */
  readonly port?: number;
  /** Files in PEM. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** Lines of an htpasswd file, bcrypt only. */
  readonly htpasswd?: string;
  /** A token server of the test's own; `rootcertbundle` holds the certificate of the key it signs with. */
  readonly token?: {
    readonly realm: string;
    readonly service: string;
    readonly issuer: string;
    readonly rootcertbundle: string;
  };
  /** true by default */
  readonly deletes?: boolean;
};

/** Starts docker-registry (parts.dockerRegistry), by default empty, open to all and with deletes. */
export const startRegistry = async (program: string, settings: RegistrySettings = {}): Promise<Registry> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('registry'));
  const host = `${settings.address ?? '127.0.0.1'}:${settings.port ?? (await freePort())}`;
  const storage = settings.storage ?? join(folder.path, 'storage');
  const configuration = join(folder.path, 'config.yml');
  await mkdir(storage, { recursive: true });
  if (settings.htpasswd !== undefined) await writeFile(join(folder.path, 'htpasswd'), settings.htpasswd);
  await writeFile(configuration, formatConfiguration(host, storage, folder.path, settings));
  cleanup.use(await serveProgram([program, 'serve', configuration], host));
  const moved = cleanup.move();
  const url = `${settings.tls ? 'https' : 'http'}://${host}`;
  return { host, url, storage, configuration, [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

/** docker-registry's own garbage collection: what no tag leads to goes, if `untagged`. */
export const collectGarbage = async (
  program: string,
  registry: Pick<Registry, 'configuration'>,
  { untagged }: { readonly untagged: boolean },
): Promise<void> => {
  const words = untagged ? ['--delete-untagged'] : [];
  await runOrFail([program, 'garbage-collect', ...words, registry.configuration]);
};

/** YAML, written as JSON where there is something to quote. */
const formatConfiguration = (
  host: string,
  storage: string,
  folder: string,
  { tls, htpasswd, token, deletes = true }: RegistrySettings,
): string => {
  const auth = {
    ...(htpasswd !== undefined && { htpasswd: { realm: 'test', path: join(folder, 'htpasswd') } }),
    ...(token && { token }),
  };
  return [
    'version: 0.1',
    'log: { level: error, accesslog: { disabled: true } }',
    `storage: ${JSON.stringify({ filesystem: { rootdirectory: storage }, delete: { enabled: deletes } })}`,
    `http: ${JSON.stringify({ addr: host, ...(tls && { tls }) })}`,
    ...(Object.keys(auth).length > 0 ? [`auth: ${JSON.stringify(auth)}`] : []),
    '',
  ].join('\n');
};
