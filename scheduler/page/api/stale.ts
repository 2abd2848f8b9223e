/** Whether the hub serves another build of the page than this tab runs: index.html names scripts by the hash of their content. */
export const isStale = async (signal: AbortSignal): Promise<boolean> => {
  try {
    const answer = await fetch('/ui/', { signal, cache: 'no-cache' });
    return answer.ok && !(await answer.text()).includes(new URL(import.meta.url).pathname);
  } catch {
    return false;
  }
};
