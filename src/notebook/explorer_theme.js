(() => {
  const frame = document.currentScript?.previousElementSibling;
  if (!frame?.contentWindow) return;
  frame.previousElementSibling?.remove();
  const tell = () => {
    const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
    const isDark = jpThemeLight === "false" || /dark|high-contrast$/.test(vscodeThemeKind ?? "");
    const isLight = jpThemeLight === "true" || /light/.test(vscodeThemeKind ?? "");
    if (isDark || isLight) frame.contentWindow?.postMessage({ theme: isDark ? "dark" : "light" }, "*");
  };
  addEventListener("message", (event) => { if (event.source === frame.contentWindow) tell(); });
  new MutationObserver(tell).observe(document.body, { attributes: true });
})();
