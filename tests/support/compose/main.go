// Loads compose files as `docker compose` does, with all profiles, and prints the names of services.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(
		os.Args[1:], cli.WithOsEnv, cli.WithProfiles([]string{"*"}), cli.WithResolvedPaths(true),
	)
	if err == nil {
		project, loadErr := options.LoadProject(context.Background())
		if err = loadErr; err == nil {
			for _, name := range project.ServiceNames() {
				fmt.Println(name)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
