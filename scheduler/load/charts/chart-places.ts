import { parse } from 'yaml';
import { type Digest, digestOf, isDigest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { readBody } from '#bundles/transport/registry/http/read-body';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { send } from '#bundles/transport/registry/http/send';
import type { ChartReference } from './manifest-settings.ts';
import type { ImageRegistries } from '../images/image-places.ts';
import { chartKey, type FetchChart } from './charts.ts';

/** Where charts are published: OCI registries, and chart repositories with an index.yaml. */
export type ChartPlaces = AsyncDisposable & {
  /**
   * The current digest of a version.
   * @throws FleetError IMAGE_MISSING, SOURCE_UNREACHABLE, DIGEST_MISMATCH, OBJECT_INVALID, YAML_SYNTAX, REGISTRY_*
   */
  readonly resolve: (reference: ChartReference, signal: AbortSignal) => Promise<Digest>;
  readonly fetch: FetchChart;
};

/** Media type of the layer with the chart's archive. */
const CHART_LAYER = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';

const MAX_BYTES = 64 << 20;

export const openChartPlaces = (registries: ImageRegistries, options: RegistryOptions): ChartPlaces => {
  let connections: ReturnType<typeof openConnections> | undefined;
  const get = async (url: URL, signal: AbortSignal): Promise<Buffer> => {
    connections ??= openConnections(options);
    checkScheme(url, options.plainHttp);
    return await download(connections, url, options.plainHttp, signal);
  };
  return {
    resolve: async (reference, signal) => {
      if (isOci(reference)) return await layerOf(registries, reference, signal);
      const { url, digest } = await entryOf(reference, get, signal);
      const actual = digestOf(await get(url, signal));
      if (digest === undefined || digest === actual) return actual;
      throw new FleetError(
        'DIGEST_MISMATCH',
        `${chartKey(reference)} is not what its repository's index says`,
      );
    },
    fetch: async (reference, digest, signal) => {
      if (isOci(reference))
        return await readBlob(repositoryOf(registries, reference).blobs, digest, MAX_BYTES, signal);
      return await get((await entryOf(reference, get, signal)).url, signal);
    },
    [Symbol.asyncDispose]: async () => {
      await connections?.close();
    },
  };
};

const isOci = ({ chart }: ChartReference): boolean => chart.startsWith('oci://');

const repositoryOf = (registries: ImageRegistries, { chart }: ChartReference) =>
  registries.repository(chart.slice('oci://'.length));

/** A tag cannot contain a plus, so Helm replaces it with an underscore. */
const tagOf = ({ version }: ChartReference): string => version.replaceAll('+', '_');

const layerOf = async (
  registries: ImageRegistries,
  reference: ChartReference,
  signal: AbortSignal,
): Promise<Digest> => {
  const manifest = await repositoryOf(registries, reference).fetchManifest(tagOf(reference), signal);
  if (!manifest) throw missing(reference);
  const { layers = [] } = JSON.parse(manifest.bytes.toString('utf8')) as {
    readonly layers?: readonly { readonly mediaType?: string; readonly digest?: string }[];
  };
  const digest = layers.find(({ mediaType }) => mediaType === CHART_LAYER)?.digest;
  if (isDigest(digest)) return digest;
  throw new FleetError('OBJECT_INVALID', `${chartKey(reference)} is not a Helm chart`, {
    hint: 'The artifact there was not pushed by helm push',
  });
};

type Get = (url: URL, signal: AbortSignal) => Promise<Buffer>;

const entryOf = async (
  reference: ChartReference,
  get: Get,
  signal: AbortSignal,
): Promise<{ readonly url: URL; readonly digest: Digest | undefined }> => {
  const slash = reference.chart.lastIndexOf('/');
  const base = new URL(`${reference.chart.slice(0, slash)}/`);
  const name = reference.chart.slice(slash + 1);
  const index = await get(new URL('index.yaml', base), signal);
  const entries = readIndex(index, base)[name] ?? [];
  const found = entries.find(({ version }) => bare(version) === bare(reference.version));
  const [url] = found?.urls ?? [];
  if (url === undefined) throw missing(reference);
  const said = `sha256:${found?.digest ?? ''}`;
  return { url: new URL(url, base), digest: isDigest(said) ? said : undefined };
};

type IndexEntry = {
  readonly version: string;
  readonly urls?: readonly string[];
  readonly digest?: string;
};

const readIndex = (bytes: Buffer, base: URL): Readonly<Record<string, readonly IndexEntry[]>> => {
  try {
    const { entries } = parse(bytes.toString('utf8')) as { entries?: Record<string, readonly IndexEntry[]> };
    if (entries) return entries;
  } catch (cause) {
    throw new FleetError('YAML_SYNTAX', `the index.yaml of ${base.href} cannot be read`, { cause });
  }
  throw new FleetError(
    'OBJECT_INVALID',
    `${base.href} is not a chart repository: its index.yaml has no entries`,
  );
};

const bare = (version: unknown): string => String(version).replace(/^v/, '');

const missing = (reference: ChartReference): FleetError =>
  new FleetError('IMAGE_MISSING', `the chart ${chartKey(reference)} is not in its registry`, {
    hint: 'Check the version, and that it was pushed',
  });

/** @throws FleetError SOURCE_UNREACHABLE for plain HTTP to a host that is neither local nor listed */
export const checkScheme = (url: URL, plainHttp: readonly string[]): void => {
  const loopback = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && (loopback || plainHttp.includes(url.host))))
    return;
  throw new FleetError('SOURCE_UNREACHABLE', `${url.href} is not asked: it is without TLS`, {
    hint: `Use https, or allow it with --plain-http ${url.host}`,
  });
};

const download = async (
  connections: ReturnType<typeof openConnections>,
  url: URL,
  plainHttp: readonly string[],
  signal: AbortSignal,
): Promise<Buffer> => {
  try {
    const answer = await send(connections, { method: 'GET', url, headers: {}, signal }, plainHttp);
    const body = await readBody(answer, MAX_BYTES, url.href);
    if (answer.status === 200) return body;
    throw new FleetError('SOURCE_UNREACHABLE', `${url.href} was answered with ${answer.status}`);
  } catch (error) {
    if (error instanceof FleetError) throw error;
    signal.throwIfAborted();
    const { message } = toFleetError(error);
    throw new FleetError('SOURCE_UNREACHABLE', `${url.href} could not be fetched: ${message}`, {
      cause: error,
    });
  }
};
