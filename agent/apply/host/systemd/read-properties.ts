/** Properties of one unit, as `systemctl show` prints them. */
export const readProperties = (block: string): ReadonlyMap<string, string> =>
  new Map(
    block.split('\n').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
