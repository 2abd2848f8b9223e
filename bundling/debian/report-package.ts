/**
 * Returns a reporter for `buildDebs`: one line when a package is begun and one when it is done, with its size and the seconds it took.
 * @param now milliseconds of a monotonic clock
 */
export const reportPackage = (
  say: (line: string) => void,
  now: () => number,
): ((name: string, bytes?: number) => void) => {
  let began = now();
  return (name, bytes) => {
    if (bytes === undefined) {
      began = now();
      say(`Packing ${name} with xz, on all cores`);
    } else say(`Packed ${name}: ${(bytes / 1e6).toFixed(1)} MB in ${Math.round((now() - began) / 1000)} s`);
  };
};
