/** Yields complete lines of a stream. Text after the last line feed is dropped. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
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
