type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Finds a header by its name in small letters; of several with that name, the first. */
export const headerIn =
  (headers: Headers) =>
  (name: string): string | undefined =>
    [headers[name]].flat()[0];
