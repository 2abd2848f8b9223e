import { defined } from '#bundles/defined';
import { isFleetError } from '#bundles/errors';
import { parseExactJson } from '#bundles/json/exact-json';
import { unreachable } from './api-error.ts';
import type { ListOptions, LiveObject, ResourceType, TypeRef, WatchEvent } from './kubernetes-api.ts';
import { pathOf, selectors } from './request-path.ts';
import type { Sender } from './send.ts';

/** Requested duration of a watch; the next one continues from the last event. */
const WATCH_SECONDS = 300;
const PARTIAL = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** Runs one watch. @throws FleetError API_* */
export async function* watchEvents(
  sender: Sender,
  findType: () => Promise<ResourceType>,
  server: string,
  ref: TypeRef,
  options: ListOptions & { readonly resourceVersion: string },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const type = await findType();
  const request = {
    method: 'GET',
    path: pathOf(type, options.namespace, undefined),
    query: {
      ...selectors(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(WATCH_SECONDS),
      resourceVersion: options.resourceVersion,
    },
    ...defined({ accept: options.metadataOnly ? PARTIAL : undefined }),
    expect: [410],
    verb: 'watch',
    what: type.plural,
    secret: type.kind === 'Secret',
  } as const;
  try {
    const response = await sender.open(request, signal);
    if (response.statusCode === 410) {
      await response.body.dump();
      yield { type: 'expired' };
      return;
    }
    for await (const line of readLines(response.body)) {
      const { type: said, object } = parseExactJson(line) as {
        type: string;
        object: LiveObject & { code?: number };
      };
      if (said === 'ERROR') {
        if (object.code !== 410) throw unreachable(server, `watching ${type.plural} ended`);
        yield { type: 'expired' };
        return;
      }
      const event = EVENTS[said];
      if (event) yield { type: event, object: { ...object, apiVersion: ref.apiVersion, kind: ref.kind } };
    }
  } catch (cause) {
    if (signal.aborted) return;
    if (isFleetError(cause)) throw cause;
    throw unreachable(server, `watching ${type.plural}`, cause);
  }
}

const EVENTS: Readonly<Record<string, 'added' | 'modified' | 'deleted' | 'bookmark'>> = {
  ADDED: 'added',
  MODIFIED: 'modified',
  DELETED: 'deleted',
  BOOKMARK: 'bookmark',
};

/** Yields complete lines of a stream. Text after the last line feed is dropped. */
async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const pending: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      pending.push(chunk.subarray(start, end));
      yield Buffer.concat(pending.splice(0)).toString('utf8');
      start = end + 1;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
}

const LINE_FEED = 0x0a;
