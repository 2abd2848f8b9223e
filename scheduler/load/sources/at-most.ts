/**
 * Runs at most `width` works at a time; others wait in their order.
 * @returns rejects as `work`
 */
export const atMost = (width: number): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let free = width;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};
