// An extension of JupyterLab, written in the form in which JupyterLab loads built extensions, so that nothing is built.
//
// - A picture gets the text `alt` of its metadata: JupyterLab itself shows pictures without a description, and the kernel
//   sends one with every chart.
// - The text of an error has a contrast of 4.5:1 with its background in the dark theme, too.
"use strict";

(() => {
  // JupyterLab's own modules: `init` gets them before anything else is called.
  let modules;

  async function shared(name) {
    const [version] = Object.values(modules[name]);
    return (await version.get())();
  }

  function describe(registry) {
    const pictures = registry.getFactory("image/png");
    registry.addFactory(
      {
        ...pictures,
        mimeTypes: ["image/png"],
        createRenderer(options) {
          const renderer = pictures.createRenderer(options);
          const render = renderer.renderModel.bind(renderer);
          renderer.renderModel = async (model) => {
            await render(model);
            const text = model.metadata["image/png"]?.alt;
            const picture = renderer.node.querySelector("img");
            if (picture && typeof text === "string") {
              picture.alt = text;
            }
          };
          return renderer;
        },
      },
      // The same rank as before: whether a value is shown as a picture or as HTML stays JupyterLab's choice.
      registry.getRank("image/png"),
    );
  }

  function darken() {
    const style = document.createElement("style");
    style.textContent = 'body[data-jp-theme-light="false"] { --jp-rendermime-error-background: #5c1a1a; }';
    document.head.append(style);
  }

  async function extension() {
    const { IRenderMimeRegistry } = await shared("@jupyterlab/rendermime");
    const plugin = {
      id: "topicbook:descriptions",
      autoStart: true,
      requires: [IRenderMimeRegistry],
      activate(_app, registry) {
        describe(registry);
        darken();
      },
    };
    return () => ({ __esModule: true, default: plugin });
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.topicbook = {
    init(scope) {
      modules = scope;
    },
    get(name) {
      return name === "./extension" ? extension() : Promise.reject(new Error(`there is no module ${name}`));
    },
  };
})();
