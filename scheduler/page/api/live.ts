import { useEffect, useState } from 'react';
import { useRevalidator } from 'react-router';
import { defined } from '#bundles/defined';
import { keepChange, readChange, readToken } from './session.ts';

/** Shortest time between two refreshes. */
const REFRESH_MS = 5000;
/** Pause before the stream is opened again. */
const RETRY_MS = 15_000;

/**
 * Reads the answers of the view again when the hub knows something new, and returns whether the hub serves a newer page. Only a visible tab has a stream: a browser opens few
 * connections to one hub, for all of its tabs together.
 */
export const useLive = (): { readonly isStale: boolean } => {
  const { revalidate } = useRevalidator();
  const [stale, setStale] = useState(false);
  useEffect(() => {
    let stream: AbortController | undefined;
    let timer: number | undefined;
    let last = 0;
    const refresh = (): void => {
      timer = undefined;
      last = performance.now();
      // A tab that becomes visible reads everything again.
      if (!document.hidden) void revalidate();
    };
    const judgeBuild = async (signal: AbortSignal): Promise<void> => {
      if (await isStale(signal)) setStale(true);
    };
    const changed = (): void => {
      timer ??= window.setTimeout(refresh, Math.max(0, last + REFRESH_MS - performance.now()));
    };
    const look = (): void => {
      stream?.abort();
      stream = document.hidden ? undefined : new AbortController();
      if (stream) {
        const { signal } = stream;
        void judgeBuild(signal);
        void follow(changed, () => void judgeBuild(signal), signal);
      }
    };
    const onVisibility = (): void => {
      look();
      changed();
    };
    look();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      stream?.abort();
      window.clearTimeout(timer);
    };
  }, [revalidate]);
  return { isStale: stale };
};

/**
 * Calls `changed` for each change after the one that the view was read at, also for those while no stream was open: the stream gets its
 * id as Last-Event-ID. Not an EventSource, which cannot send the token in a header.
 */
const follow = async (changed: () => void, reopened: () => void, signal: AbortSignal): Promise<void> => {
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    try {
      const token = readToken();
      const last = readChange();
      const answer = await fetch('/v1/changes', {
        headers: defined({
          accept: 'text/event-stream',
          authorization: token === null ? undefined : `Bearer ${token}`,
          'last-event-id': last === null ? undefined : last,
        }),
        signal,
      });
      if (answer.ok && answer.body !== null) {
        // An upgrade restarts the hub.
        if (!isFirst) reopened();
        for await (const text of lines(answer.body)) {
          if (text.startsWith('id: ')) keepChange(text.slice(4));
          else if (text.startsWith('event: changed')) changed();
        }
      } else await answer.body?.cancel();
    } catch {
      // The hub is unreachable; the views report it with their next request.
    }
    await new Promise((resolve) => {
      const timer = window.setTimeout(resolve, RETRY_MS);
      signal.addEventListener('abort', () => {
        window.clearTimeout(timer);
        resolve(undefined);
      });
    });
  }
};

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = `${rest}${value}`.split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

/** Whether the hub serves another build of the page than this tab runs: index.html names scripts by the hash of their content. */
const isStale = async (signal: AbortSignal): Promise<boolean> => {
  try {
    const answer = await fetch('/ui/', { signal, cache: 'no-cache' });
    return answer.ok && !(await answer.text()).includes(new URL(import.meta.url).pathname);
  } catch {
    return false;
  }
};
