/** Lets at most `width` of the works run at once; the others wait their turn. */
export type Limit = <T>(work: () => Promise<T>) => Promise<T>;

export const createLimit = (width: number): Limit => {
  let free = width;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};
