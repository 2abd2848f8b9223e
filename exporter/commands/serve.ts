import { once } from 'node:events';
import { Flags } from '@oclif/core';
import { FleetError, formatError, plainText, toFleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { isRepositoryName } from '#bundles/transport/registry/registry-address';
import { readServedContent } from '../serve/read-served-content.ts';
import { parseListen } from '../serve/parse-listen.ts';
import { registryHandler } from '../serve/registry-handler.ts';
import { startServer } from '../serve/start-server.ts';
import { trustNotes } from '../verify/trust-notes.ts';
import { IDENTITY_FLAG, MEDIUM_ARG, openGiven } from './open-given.ts';
import { parseRootDigest, ROOT_FLAG } from './root-digest.ts';
import { SELECTION_FLAGS, selectionOf } from './site-registry-flags.ts';
import { stoppable } from './stoppable.ts';

type Served = {
  readonly medium: string;
  readonly url: string;
  readonly repositories: number;
  readonly images: number;
  /** Of blobs, while it ran. */
  readonly bytes: number;
  /** Transfers that were cut off because the medium could not be read or was not right. */
  readonly broken: number;
  readonly notes: readonly string[];
};

export default class Serve extends FleetCommand {
  static override summary = 'Serve a medium as a read-only registry';
  static override description =
    `Copies nothing. Serves only content that the signed statements of the medium refer to, and checks every blob while it is sent: for a damaged blob the connection is closed before the last byte. Expired releases are served too; agents decide what they install.

Images are at <host>/<repository>, by digest and with the tag i-<digest>, so that the server works as a mirror for containerd. Channels are at <environment>/<cluster type>. Runs until it is stopped.`;
  static override examples = [
    '<%= config.bin %> serve /media/stick --root-sha256 3f0c...',
    '<%= config.bin %> serve plant-7.tar --listen 0.0.0.0:5000 --tls-cert edge.crt --tls-key edge.key',
  ];
  static override strict = false;
  static override args = MEDIUM_ARG;
  static override flags = {
    ...ROOT_FLAG,
    ...IDENTITY_FLAG,
    listen: Flags.string({
      default: '127.0.0.1:5000',
      description: 'Address and port; port 0 chooses a free port',
    }),
    'tls-cert': Flags.string({ description: 'Certificate and its chain, PEM', dependsOn: ['tls-key'] }),
    'tls-key': Flags.string({ description: 'Private key of the certificate, PEM', dependsOn: ['tls-cert'] }),
    'images-at': Flags.string({ default: '', description: 'Path below which images are served' }),
    ...SELECTION_FLAGS,
  };

  async run(): Promise<Served> {
    const { argv, flags } = await this.parse(Serve);
    const given = flags['root-sha256'];
    const pinned = given === undefined ? undefined : parseRootDigest(given);
    const listen = parseListen(flags.listen);
    const imagesAt = parsePath(flags['images-at']);
    const [certificate, key] = [flags['tls-cert'], flags['tls-key']];
    const tls = certificate !== undefined && key !== undefined ? { certificate, key } : undefined;
    const selection = selectionOf(flags);
    const counted = { bytes: 0, broken: 0 };
    return stoppable(this.signal, 'Nothing was served yet', async () => {
      await using medium = await openGiven(argv as string[], flags, this.signal);
      const served = await readServedContent(medium, { selection, pinned, imagesAt, signal: this.signal });
      const { root, repositories, images } = served;
      const notes = [
        ...trustNotes(root, pinned),
        ...(!listen.loopback && !tls
          ? [
              `every client that reaches ${listen.host} can read everything, and no client can verify this server: use --tls-cert and --tls-key`,
            ]
          : []),
        ...served.notes,
      ];
      const handler = registryHandler(served, {
        imagesAt,
        onBytes: (bytes) => {
          counted.bytes += bytes;
        },
        onBroken: (error) => {
          counted.broken += 1;
          process.stderr.write(`cut off: ${formatError(toFleetError(error, 'serving a blob'))}\n`);
        },
      });
      const server = await startServer({ listen, tls }, handler);
      for (const note of notes) process.stderr.write(`Note: ${plainText(note)}.\n`);
      process.stderr.write(
        `Serving ${plainText(medium.path)} at ${server.url}: ${count(repositories.size, 'repository', 'repositories')}, ${count(images, 'image', 'images')}. Ctrl-C ends it.\n`,
      );
      if (!this.signal.aborted) await once(this.signal, 'abort');
      await server[Symbol.asyncDispose]();
      return {
        medium: medium.path,
        url: server.url,
        repositories: repositories.size,
        images,
        ...counted,
        notes,
      };
    });
  }
}

const parsePath = (text: string): string => {
  if (text === '' || isRepositoryName(text)) return text;
  throw new FleetError(
    'USAGE',
    `--images-at ${JSON.stringify(text.slice(0, 80))} is not a path of a registry`,
    {
      hint: 'Use lower case, digits and single . _ - between them, parts joined by /',
    },
  );
};

const count = (number: number, one: string, more: string): string => `${number} ${number === 1 ? one : more}`;
